// Two things the server cannot know by itself, told in cookies: light or dark, narrow or wide.
const remember = (name, value) => {
  document.cookie = `${name}=${value}; path=/; max-age=31536000; samesite=lax`;
};
const measure = () => remember("signoff-view", window.innerWidth < 700 ? "narrow" : "wide");
measure();
window.addEventListener("resize", measure);
document.addEventListener("click", (event) => {
  const path = event.composedPath();
  if (!path.some((node) => node.getAttribute && node.getAttribute("aria-label") === "Toggle theme")) return;
  const dark = path.some((node) => node.classList && node.classList.contains("mui-dark"));
  remember("signoff-theme", dark ? "light" : "dark");
});
