// GNUstep's headers look for this one when blocks are on; GNU's runtime does not have it.
#include <Block.h>
