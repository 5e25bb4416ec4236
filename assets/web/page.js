// Two things the server cannot know by itself, told in cookies: light or dark, narrow or wide.
const remember = (name, value) => {
  document.cookie = `${name}=${value}; path=/; max-age=31536000; samesite=lax`;
};
const measure = () => remember("signoff-view", window.innerWidth < 700 ? "narrow" : "wide");
measure();
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

// Ask before leaving a page that says it has unsaved changes.
const shows = (root, selector) =>
  root.querySelector(selector) !== null ||
  [...root.querySelectorAll("*")].some((node) => node.shadowRoot && shows(node.shadowRoot, selector));
let gone = false;
window.addEventListener("beforeunload", (event) => {
  if (!gone && shows(document, "[data-unsaved]")) event.preventDefault();
});

// The server went away: say so, and load the page again once it answers. (Bokeh tries to reconnect by itself first.)
const RETRY_MS = 2000;
let away = false;

const say = () => {
  const bar = document.createElement("div");
  bar.id = "signoff-away";
  bar.setAttribute("role", "alert");
  bar.textContent = "The connection to Signoff was lost. This page loads again as soon as the server answers.";
  bar.style.cssText =
    "position:fixed;inset:auto 0 0 0;z-index:99999;padding:12px 18px;background:#7a1c16;color:#fff;font:600 14px system-ui,sans-serif";
  document.body.append(bar);
};

const ask = async () => {
  if (!away) return;
  try {
    const answer = await fetch("/assets/icon.svg", {cache: "no-store"});
    if (away && answer.ok) {
      gone = true; // what was not saved went with the server
      window.location.reload();
    }
  } catch {
    // Still away.
  }
  setTimeout(ask, RETRY_MS);
};

const lost = () => {
  if (away) return;
  away = true;
  say();
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
