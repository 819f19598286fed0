import type { ComponentChildren } from "preact";
import { type Document, type Endpoint, type Schema, bodyOf, resolve, typeName } from "./document";
import { ExampleBox } from "./example-box";
import type { Language } from "./examples";
import { requestSample, sampleOf } from "./samples";

interface EndpointProps {
  document: Document;
  endpoint: Endpoint;
  apiKey: string | undefined;
  keyShown: boolean;
  language: Language;
  onLanguage: (language: Language) => void;
}

const NO_KEY = "rcpt_live_…";
const SESSION = "Bearer <session token>";

export function EndpointSection({
  document,
  endpoint,
  apiKey,
  keyShown,
  language,
  onLanguage,
}: EndpointProps) {
  const { method, path, operation } = endpoint;
  const id = operation.operationId;
  const request = bodyOf(document, operation.requestBody?.content);
  const schemes = (operation.security ?? []).flatMap((scheme) => Object.keys(scheme));
  const byKey = schemes.includes("ApiKey");
  const credential = byKey
    ? { header: "X-API-Key", value: apiKey ?? NO_KEY }
    : schemes.includes("Session")
      ? { header: "Authorization", value: SESSION }
      : undefined;
  const [status, success] = Object.entries(operation.responses).find(([code]) => code.startsWith("2")) ?? [];
  const answer = bodyOf(document, success?.content);

  return (
    <section class="endpoint" id={id} aria-labelledby={`${id}-title`}>
      <div class="endpoint-text">
        <h3 id={`${id}-title`}>{operation.summary ?? id}</h3>
        <p class="route">
          <span class={`method ${method.toLowerCase()}`}>{method}</span> <code>{path}</code>
        </p>
        {operation.description !== undefined && <Prose text={operation.description} />}
        <p class="quiet">{whoMayCall(byKey, schemes.includes("Session"))}</p>
        {request !== undefined && <Fields document={document} title="Body" schema={request} />}
        {answer?.properties !== undefined && (
          <Fields document={document} title="Answer" schema={answer} answer />
        )}
        <h4>Statuses</h4>
        <dl class="statuses">
          {Object.entries(operation.responses).map(([code, { description, headers }]) => (
            <div>
              <dt>
                <code>{code}</code>
              </dt>
              <dd>
                <Inline text={description} />
                {headers?.["Retry-After"] !== undefined && (
                  <span class="quiet">
                    {" "}
                    (with <code>Retry-After</code>)
                  </span>
                )}
              </dd>
            </div>
          ))}
        </dl>
      </div>
      <div class="endpoint-code">
        <ExampleBox
          id={id}
          example={{
            method,
            url: (API_URL || location.origin) + path,
            credential,
            body: request === undefined ? undefined : requestSample(document, request),
          }}
          shownKey={byKey && apiKey !== undefined && !keyShown ? `${apiKey.slice(0, 10)}••••` : undefined}
          language={language}
          onLanguage={onLanguage}
        />
        {answer !== undefined && (
          <figure class="code">
            <figcaption>Answer {status}</figcaption>
            <pre tabIndex={0}>
              <code>{JSON.stringify(sampleOf(document, answer), null, 2)}</code>
            </pre>
          </figure>
        )}
      </div>
    </section>
  );
}

function whoMayCall(key: boolean, session: boolean): string {
  if (key) return "Takes your API key, or a session token.";
  if (session) return "Takes a session token, as sign-in gives it; an API key is not enough.";
  return "Takes no credentials.";
}

function Fields({
  document,
  title,
  schema,
  answer = false,
}: {
  document: Document;
  title: string;
  schema: Schema;
  answer?: boolean;
}) {
  return (
    <>
      <h4>{title}</h4>
      <FieldList document={document} schema={schema} answer={answer} />
    </>
  );
}

function FieldList({ document, schema, answer }: { document: Document; schema: Schema; answer: boolean }) {
  const required = new Set(schema.required ?? []);
  return (
    <dl class="fields">
      {Object.entries(schema.properties ?? {}).map(([name, given]) => {
        const property = resolve(document, given);
        const nested = property.properties !== undefined;
        return (
          <div>
            <dt>
              <code>{name}</code>{" "}
              <span class="quiet">
                {nested ? "object" : typeName(document, property)}
                {required.has(name) ? "" : answer ? ", may be absent" : ", optional"}
              </span>
            </dt>
            <dd>
              {property.description !== undefined && <Inline text={property.description} />}
              {nested && <FieldList document={document} schema={property} answer={answer} />}
            </dd>
          </div>
        );
      })}
    </dl>
  );
}

function Prose({ text }: { text: string }) {
  return (
    <>
      {text.split(/\n{2,}/).map((paragraph) => (
        <p>
          <Inline text={paragraph} />
        </p>
      ))}
    </>
  );
}

/** The one piece of Markdown that the descriptions use: code between backticks. */
function Inline({ text }: { text: string }): ComponentChildren {
  return text.split("`").map((part, at) => (at % 2 === 1 ? <code>{part}</code> : part));
}
