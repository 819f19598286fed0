// A first request that can be copied and run, with the reader's own key.
import { useSession } from "../../session";
import { Card } from "../../ui/card";
import { ExampleBox } from "../../ui/example-box";
import { NO_KEY, masked } from "../../ui/key-box";
import { CHECK } from "../../words/examples";
import { useLanguage } from "../../words/language";

export function InYourCode() {
  const apiKey = useSession()?.api_key;
  const [language, setLanguage] = useLanguage();
  return (
    <Card id="next" title="Use it in your code">
      <ExampleBox
        id="next"
        example={{
          ...CHECK,
          base: API_URL || location.origin,
          credential: { header: "X-API-Key", value: apiKey ?? NO_KEY },
          body: { email: "accepts@sandbox.test" },
        }}
        shownKey={apiKey === undefined ? undefined : masked(apiKey)}
        language={language}
        onLanguage={setLanguage}
      />
      <p class="quiet">
        {apiKey === undefined ? "Put in your " : "Copy it, and it contains your "}
        <a href="/api-key">API key</a>. The <a href="/docs#quick-start">quick start</a> explains the answer.
      </p>
    </Card>
  );
}
