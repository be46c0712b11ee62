"use strict";
// The form "What about my Mac", and the filter over the list. Text only ever becomes text.

(() => {
  const byId = (id) => document.getElementById(id);
  const add = (to, tag, text) => {
    const made = document.createElement(tag);
    if (text) made.textContent = text;
    to.append(made);
    return made;
  };

  const ask = byId("ask"), answer = byId("answer");
  const versions = new Map(VERDICTS.builds);
  for (const [build, version] of VERDICTS.builds) {
    const option = add(byId("builds"), "option");
    option.value = build;
    option.label = `macOS ${version}`;
  }

  const told = (name) => {
    const build = byId(name).value.trim();
    // Builds are written with one capital letter; a beta ends in a small one.
    return build.slice(0, 3).toUpperCase() + build.slice(3).toLowerCase();
  };

  const neighbours = (guest, host) => {
    const verified = VERDICTS.exact.filter((e) => e.answer.decision === "allow" && (e.guest === guest || e.host === host));
    if (!verified.length) return;
    add(answer, "p", "Verified pairs of this guest or this host:");
    const list = add(answer, "ul");
    for (const e of verified) {
      const link = add(add(list, "li"), "a", `guest ${e.guest} on host ${e.host} (${e.answer.record})`);
      link.href = `pairs/${encodeURIComponent(e.answer.record)}.html`;
    }
  };

  const show = () => {
    const guest = told("guest"), host = told("host");
    answer.replaceChildren();
    answer.className = "";
    if (!guest && !host) return;
    for (const [name, build] of [["host", host], ["guest", guest]]) {
      if ((build || name === "guest") && !buildParts(build)) {
        add(answer, "p", build
          ? `“${build}” is not a macOS build number. It looks like 25F84; sw_vers -buildVersion prints it.`
          : "The guest's build is missing. sw_vers -buildVersion prints it inside the virtual machine.");
        return;
      }
    }
    const is = verdict(VERDICTS, guest, host || null);
    answer.className = is.decision;
    const title = add(answer, "p");
    add(title, "strong", is.decision === "allow" ? "Yes." : `Stays stock (${is.reason}).`);
    title.append(" ", is.says.replaceAll("{guest-version}", versions.get(guest) || "not known"));
    if (is.record) {
      const link = add(add(answer, "p"), "a", `Record ${is.record}`);
      link.href = `pairs/${encodeURIComponent(is.record)}.html`;
    } else neighbours(guest, host);
    const list = add(answer, "ol");
    for (const [says, command] of is.remedies) {
      const item = add(list, "li", says);
      if (command) add(add(item, "pre"), "code", command);
    }
  };

  ask.addEventListener("submit", (event) => {
    event.preventDefault();
    const to = new URLSearchParams({ host: told("host"), guest: told("guest") });
    history.replaceState(null, "", `#${to}`);
    show();
  });
  const given = new URLSearchParams(location.hash.slice(1));
  for (const name of ["host", "guest"]) byId(name).value = (given.get(name) || "").slice(0, 12);
  ask.hidden = false;
  show();

  const words = byId("words"), status = byId("status"), rows = [...byId("pairs").tBodies[0].rows];
  const filter = () => {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !(wanted.every((w) => text.includes(w)) && (!status.value || row.dataset.status === status.value));
      if (!row.hidden) shown++;
    }
    byId("count").textContent = `${shown} of ${rows.length}`;
  };
  byId("filter").addEventListener("submit", (event) => event.preventDefault());
  words.addEventListener("input", filter);
  status.addEventListener("change", filter);
  byId("filter").hidden = false;
  filter();
})();
