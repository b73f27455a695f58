// The login page: the button wakes when both fields are filled, the password
// travels as its sha256.
(() => {
  const form = document.querySelector("[data-r=form]");
  const button = form.querySelector("button");
  const alert = form.querySelector("[data-r=alert]");
  const fields = [form.elements.email, form.elements.password];

  form.addEventListener("input", () => { button.disabled = fields.some((f) => !f.value); });

  async function sha256(text) {
    const sum = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
    return [...new Uint8Array(sum)].map((b) => b.toString(16).padStart(2, "0")).join("");
  }

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    const reply = await fetch("/api/v2/auths/signin", {
      method: "POST", credentials: "include", headers: { "Content-Type": "application/json", source: "web" },
      body: JSON.stringify({ email: fields[0].value, password: await sha256(fields[1].value), login_type: "email" }),
    });
    const body = await reply.json().catch(() => ({}));
    if (body.success) {
      localStorage.setItem("token", body.data.token);
      location.assign("/");
      return;
    }
    alert.textContent = body.data?.details || "The sign-in failed. Try again.";
    button.disabled = false;
  });
})();
