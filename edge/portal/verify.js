// Confirms on a click and not on load: mail scanners open links, and a link works once.
const token = new URLSearchParams(location.search).get("token");
// The token leaves the address bar, the history and every later Referer.
history.replaceState(null, "", location.pathname);

const message = document.getElementById("message");
const button = document.getElementById("confirm");

function tell(text, isError) {
  message.textContent = text;
  message.classList.toggle("error", isError);
}

async function confirm() {
  button.disabled = true;
  tell("Confirming…", false);
  try {
    const response = await fetch("/v1/auth/verify-email", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ token }),
    });
    const answer = await response.json();
    if (!response.ok) {
      tell(answer.detail, true);
      // A link that is not valid stays so; anything else may pass.
      button.disabled = response.status === 400;
      return;
    }
    tell("Your address is confirmed. This is your API key; keep it secret.", false);
    document.getElementById("email").textContent = answer.email;
    document.getElementById("api-key").textContent = answer.api_key;
    document.getElementById("result").hidden = false;
    button.hidden = true;
  } catch {
    tell("The service could not be reached. Check your connection and try again.", true);
    button.disabled = false;
  }
}

if (token) {
  button.addEventListener("click", confirm);
} else {
  tell("This link is incomplete: open it again from the mail, or copy all of it.", true);
  button.disabled = true;
}
