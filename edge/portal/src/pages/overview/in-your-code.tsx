// A first request that works as it is copied, with the reader's own key.
import { useState } from "preact/hooks";
import { useSession } from "../../session";
import { Card } from "../../ui/card";
import { ExampleBox } from "../../ui/example-box";
import { masked } from "../../ui/key-box";
import { CHECK, LANGUAGES, type Language } from "../../words/examples";

export function InYourCode() {
  const apiKey = useSession()?.api_key ?? "";
  const [language, setLanguage] = useState<Language>(LANGUAGES[0]);
  return (
    <Card id="next" title="Use it in your code">
      <ExampleBox
        id="next"
        example={{
          ...CHECK,
          base: API_URL || location.origin,
          credential: { header: "X-API-Key", value: apiKey },
          body: { email: "accepts@sandbox.test" },
        }}
        shownKey={masked(apiKey)}
        language={language}
        onLanguage={setLanguage}
      />
      <p class="quiet">
        It copies with your <a href="/api-key">API key</a>. The <a href="/docs#quick-start">quick start</a>{" "}
        says what the answer means.
      </p>
    </Card>
  );
}
