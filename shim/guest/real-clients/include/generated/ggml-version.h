// ggml's own build makes a header of this name. Nothing here reads it.
#ifndef GGML_VERSION
#define GGML_VERSION "0"
#endif
#ifndef GGML_COMMIT
#define GGML_COMMIT "0"
#endif
