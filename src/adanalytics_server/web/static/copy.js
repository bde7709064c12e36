const button = document.getElementById("copy");
const key = document.getElementById("key");
button.hidden = false;
button.addEventListener("click", async () => {
  key.select();
  if (navigator.clipboard) await navigator.clipboard.writeText(key.value);
  else document.execCommand("copy");
  button.textContent = "Copied";
});
