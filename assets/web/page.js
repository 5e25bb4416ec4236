// What the server cannot know by itself, told in cookies: light or dark, narrow or wide.
const remember = (name, value) => {
  document.cookie = `${name}=${value}; path=/; max-age=31536000; samesite=lax`;
};
const measure = () => remember("signoff-view", window.innerWidth < 700 ? "narrow" : "wide");
measure();
// What the system prefers counts until somebody chooses; it may change from day to evening.
const preferred = window.matchMedia("(prefers-color-scheme: dark)");
const prefer = () => remember("signoff-scheme", preferred.matches ? "dark" : "light");
prefer();
preferred.addEventListener("change", prefer);
window.addEventListener("resize", measure);
// While the click is on its way down, the page still shows the theme that is about to go.
document.addEventListener(
  "click",
  (event) => {
    const path = event.composedPath();
    if (!path.some((node) => node.getAttribute && node.getAttribute("aria-label") === "Toggle theme")) return;
    const dark = path.some((node) => node.classList && node.classList.contains("mui-dark"));
    remember("signoff-theme", dark ? "light" : "dark");
  },
  true,
);

// What a person typed and has not sent: fields that hold something else than when they were first entered.
const FIELDS = "input, textarea, select, [role=combobox]";
const entered = new Map();
const held = (field) => (/^(checkbox|radio)$/.test(field.type) ? field.checked : (field.value ?? field.textContent));
document.addEventListener(
  "focusin",
  (event) => {
    const field = event.composedPath()[0];
    if (field.matches?.(FIELDS) && !entered.has(field)) entered.set(field, held(field));
  },
  true,
);
const shows = (root, selector) =>
  root.querySelector(selector) !== null ||
  [...root.querySelectorAll("*")].some((node) => node.shadowRoot && shows(node.shadowRoot, selector));
const unsaved = () =>
  shows(document, "[data-unsaved]") ||
  [...entered].some(([field, before]) => field.isConnected && held(field) !== before);

// Ask before leaving a page that says it has unsaved changes.
let gone = false;
window.addEventListener("beforeunload", (event) => {
  if (!gone && shows(document, "[data-unsaved]")) event.preventDefault();
});

// Escape closes a dialog (clicking beside it does not), unless it is meant for a list that is open in front of it.
window.addEventListener(
  "keydown",
  (event) => {
    if (event.key !== "Escape" || event.isComposing) return;
    const path = event.composedPath().filter((node) => node.matches);
    if (path.some((node) => node.matches('[role=listbox], [role=menu], [aria-expanded="true"]'))) return;
    path.find((node) => node.matches("[role=dialog]"))?.querySelector('button[aria-label="close"]')?.click();
  },
  true,
);

// The server went away: say so, and load the page again once it answers. (Bokeh tries to reconnect by itself first.)
// Where something is unsaved the page stays as it is, and the person decides.
const RETRY_MS = 2000;
let away = false;

const say = (words, ...more) => {
  let bar = document.getElementById("signoff-away");
  if (!bar) {
    bar = document.createElement("div");
    bar.id = "signoff-away";
    bar.setAttribute("role", "alert");
    bar.style.cssText =
      "position:fixed;inset:auto 0 0 0;z-index:99999;padding:12px 18px;background:#7a1c16;color:#fff;font:600 14px system-ui,sans-serif";
    document.body.append(bar);
  }
  bar.replaceChildren(words, ...more);
};

const again = () => {
  gone = true; // whoever asks for it knows what goes
  window.location.reload();
};

const offer = () => {
  const link = document.createElement("a");
  link.href = window.location.href;
  link.textContent = "Load again";
  link.style.cssText = "color:#fff;text-decoration:underline";
  link.addEventListener("click", (event) => {
    event.preventDefault();
    again();
  });
  say("Signoff answers again, but not to this page. What is not saved is still shown here; copy it first. ", link);
};

const ask = async () => {
  if (!away) return;
  try {
    const answer = await fetch("/assets/icon.svg", {cache: "no-store"});
    if (away && answer.ok) {
      if (unsaved()) offer();
      else again();
      return;
    }
  } catch {
    // Still away.
  }
  setTimeout(ask, RETRY_MS);
};

const lost = () => {
  if (away) return;
  away = true;
  say(
    unsaved()
      ? "The connection to Signoff was lost. What is not saved stays on this page."
      : "The connection to Signoff was lost. This page loads again as soon as the server answers.",
  );
  setTimeout(ask, RETRY_MS);
};

const found = () => {
  away = false;
  document.getElementById("signoff-away")?.remove();
};

const listen = () => {
  const page = window.Bokeh?.documents?.[0];
  if (!page) {
    setTimeout(listen, 300);
    return;
  }
  page.on_event("connection_lost", lost);
  page.on_event("client_reconnected", found);
};
if (document.documentElement.dataset.themeManaged) listen();
