// An operation of the API: its request, its responses, and an example.
import { Code } from "../../ui/code";
import { NO_KEY, masked } from "../../ui/key-box";
import page from "../docs.module.css";
import css from "./endpoint.module.css";
import {
  type Document,
  type Endpoint,
  type Operation,
  type Outcome,
  type Schema,
  bodyOf,
  exampleOf,
  nameOf,
  ownResponses,
  resolve,
  typeName,
} from "./document";
import { Inline } from "./inline";
import { ExampleBox } from "../../ui/example-box";
import type { Language } from "../../words/examples";
import { clientsCall } from "./clients-call";
import { Fold } from "./fold";
import { fieldsInOrder, inReadingOrder } from "./order";

export interface Chosen {
  member: boolean;
  /** Undefined if no open tab of this browser has the key. */
  apiKey: string | undefined;
  keyShown: boolean;
  language: Language;
  onLanguage: (language: Language) => void;
}

interface EndpointProps {
  document: Document;
  endpoint: Endpoint;
  chosen: Chosen;
  open: boolean;
}

const SESSION = "Bearer <session token>";

/** Returns the names of a response's headers, except the request id's, which all responses have. */
const ownHeaders = (headers: Outcome["headers"]) =>
  Object.keys(headers ?? {}).filter((name) => name !== "X-Request-Id");

export function EndpointSection({ document, endpoint, chosen, open }: EndpointProps) {
  const { method, path, operation } = endpoint;
  const { apiKey, keyShown, language, onLanguage } = chosen;
  const id = operation.operationId;
  const request = bodyOf(document, operation.requestBody?.content);
  const schemes = (operation.security ?? []).flatMap((scheme) => Object.keys(scheme));
  const byKey = schemes.includes("ApiKey");
  const bySession = schemes.includes("Session");
  // Another product makes these calls: without its signature, a program gets 401.
  const isSigned = (operation.parameters ?? []).some(({ name }) => name === "webhook-signature");
  const credential = byKey
    ? { header: "X-API-Key", value: apiKey ?? NO_KEY }
    : bySession
      ? { header: "Authorization", value: SESSION }
      : undefined;
  const [status, success] = Object.entries(operation.responses).find(([code]) => code.startsWith("2")) ?? [];
  const response = bodyOf(document, success?.content);
  const answer = exampleOf(success?.content);

  return (
    <Fold
      part="endpoint"
      id={id}
      open={open}
      title={
        <>
          <h3 id={`${id}-title`}>{operation.summary ?? id}</h3>
          <span class={css.route}>
            <span class={css.method}>{method}</span> <code>{path}</code>
          </span>
        </>
      }
    >
      <div class={page.endpoint}>
        <div class={page.text}>
          {operation.description !== undefined && <Prose text={operation.description} />}
          <p class="quiet">{whoMayCall(byKey, bySession)}</p>
          {PLACES.map(({ place, title }) => (
            <Parameters document={document} operation={operation} place={place} title={title} />
          ))}
          {request !== undefined && (
            <Fields document={document} title="Body" schema={request} response={false} />
          )}
          {response?.properties !== undefined && (
            <Fields document={document} title="Response" schema={response} response />
          )}
          <h4>Statuses</h4>
          <dl class={css.statuses}>
            {ownResponses(operation).map(([code, { description, headers }]) => (
              <div>
                <dt>
                  <code>{code}</code>
                </dt>
                <dd>
                  <Inline text={description} />
                  {ownHeaders(headers).length > 0 && (
                    <span class="quiet">
                      {" (with "}
                      {ownHeaders(headers).map((name, at) => (
                        <>
                          {at > 0 && ", "}
                          <code>{name}</code>
                        </>
                      ))}
                      )
                    </span>
                  )}
                </dd>
              </div>
            ))}
          </dl>
        </div>
        <div class={page.code}>
          {!isSigned && (
            <ExampleBox
              id={id}
              example={{
                operation: id,
                tag: operation.tags?.[0] ?? "",
                method,
                base: API_URL || location.origin,
                path,
                credential,
                body: inReadingOrder(exampleOf(operation.requestBody?.content)),
                schema: nameOf(operation.requestBody?.content),
                ...clientsCall(id),
              }}
              shownKey={byKey && apiKey !== undefined && !keyShown ? masked(apiKey) : undefined}
              language={language}
              onLanguage={onLanguage}
            />
          )}
          {answer !== undefined && (
            <Code caption={`Response ${status}`} text={JSON.stringify(inReadingOrder(answer), null, 2)} />
          )}
        </div>
      </div>
    </Fold>
  );
}

function whoMayCall(key: boolean, session: boolean): string {
  if (key) return "Needs your API key, or a session token.";
  if (session) return "Needs a session token from signing in. An API key isn’t enough.";
  return "Needs no credentials.";
}

/** Locations of parameters, in the order shown. */
const PLACES = [
  { place: "path", title: "Path" },
  { place: "query", title: "Query" },
  { place: "header", title: "Headers" },
] as const;

interface ParametersProps {
  document: Document;
  operation: Operation;
  place: (typeof PLACES)[number]["place"];
  title: string;
}

function Parameters({ document, operation, place, title }: ParametersProps) {
  const parameters = (operation.parameters ?? []).filter((parameter) => parameter.in === place);
  if (parameters.length === 0) return null;
  return (
    <>
      <h4>{title}</h4>
      <dl class={css.fields}>
        {parameters.map(({ name, required, schema, description }) => (
          <div>
            <dt>
              <code>{name}</code>{" "}
              <span class="quiet">
                {schema === undefined ? "string" : typeName(document, schema)}
                {required ? "" : ", optional"}
              </span>
            </dt>
            <dd>
              <Inline text={description ?? ""} />
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}

interface FieldsProps {
  document: Document;
  schema: Schema;
  /** True in a response, false in a request. */
  response: boolean;
}

function Fields({ title, ...props }: FieldsProps & { title: string }) {
  return (
    <>
      <h4>{title}</h4>
      <FieldList {...props} />
    </>
  );
}

function FieldList({ document, schema, response }: FieldsProps) {
  const always = new Set([...(schema.required ?? []), ...(schema["x-added-later"] ?? [])]);
  return (
    <dl class={css.fields}>
      {fieldsInOrder(schema.properties ?? {}).map(([name, given]) => {
        const property = resolve(document, given);
        const parts = [property.items, ...(property.oneOf ?? [])].filter((part) => part !== undefined);
        const shapes = [property, ...parts.map((part) => resolve(document, part))];
        const inner = shapes.find((shape) => shape.properties !== undefined);
        return (
          <div>
            <dt>
              <code>{name}</code>{" "}
              <span class="quiet">
                {inner === property ? "object" : typeName(document, property)}
                {always.has(name) ? "" : response ? ", may be absent" : ", optional"}
              </span>
            </dt>
            <dd>
              {property.description !== undefined && <Inline text={property.description} />}
              {inner !== undefined && <FieldList document={document} schema={inner} response={response} />}
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
