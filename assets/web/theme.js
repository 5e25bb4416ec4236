// Remembers the choice between light and dark; the server draws the next page accordingly.
document.addEventListener("click", (event) => {
  const path = event.composedPath();
  if (!path.some((node) => node.getAttribute && node.getAttribute("aria-label") === "Toggle theme")) return;
  const dark = path.some((node) => node.classList && node.classList.contains("mui-dark"));
  document.cookie = `signoff-theme=${dark ? "light" : "dark"}; path=/; max-age=31536000; samesite=lax`;
});
