// Converts passkeys between the browser's bytes and the API's base64url.
import { type Schemas, call } from "./client";
import { Problem } from "./problem";

/** Returns whether this browser can use passkeys here: they belong to a host name, never to an IP address. */
export const hasPasskeys = () =>
  typeof PublicKeyCredential === "function" && !/^[\d.]+$|^\[/.test(location.hostname);

/** Returns the problem for a passkey prompt that the person or their device has cancelled. */
const declined = (text: string) => new Problem({ kind: "declined", text });

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const plain = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(plain, (character) => character.charCodeAt(0));
}

function textOf(buffer: ArrayBuffer): string {
  let plain = "";
  for (const byte of new Uint8Array(buffer)) plain += String.fromCharCode(byte);
  return btoa(plain).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

async function ask<R>(
  asked: Promise<Credential | null>,
  read: (answer: PublicKeyCredential) => R,
): Promise<R> {
  let answer: Credential | null;
  try {
    answer = await asked;
  } catch (error) {
    if (error instanceof DOMException && error.name === "InvalidStateError")
      throw declined("This device has a passkey for your account already.");
    throw declined("Your device didn’t finish. Nothing was changed.");
  }
  if (!(answer instanceof PublicKeyCredential)) throw declined("Your device has no passkey.");
  return read(answer);
}

/** Creates a passkey in the browser from the API’s options, and adds it to the account. */
export async function add(
  name: string,
  proof: { password: string; totp_code?: string },
): Promise<Schemas["Passkey"]> {
  const options = await call("post", "/v1/auth/passkeys/options", "session", proof);
  const publicKey = {
    ...options,
    challenge: bytesOf(options.challenge),
    user: { ...options.user, id: bytesOf(options.user.id) },
    excludeCredentials: options.excludeCredentials.map(({ id }) => ({ type: "public-key", id: bytesOf(id) })),
  } as PublicKeyCredentialCreationOptions;
  const credential = await ask(navigator.credentials.create({ publicKey }), ({ rawId, response }) => ({
    id: textOf(rawId),
    response: {
      clientDataJSON: textOf(response.clientDataJSON),
      attestationObject: textOf((response as AuthenticatorAttestationResponse).attestationObject),
    },
  }));
  return call("post", "/v1/auth/passkeys", "session", { name, credential });
}

export type UsedCredential = Schemas["UsedCredential"];

/** Returns the browser's signature with a passkey that the person chooses. */
export async function use(): Promise<UsedCredential> {
  const options = await call("post", "/v1/auth/passkeys/sign-in/options", "anyone");
  const { rpId, timeout, userVerification } = options;
  const publicKey = {
    rpId,
    timeout,
    userVerification,
    challenge: bytesOf(options.challenge),
  } as PublicKeyCredentialRequestOptions;
  return ask(navigator.credentials.get({ publicKey }), ({ rawId, response }) => {
    const { clientDataJSON, authenticatorData, signature, userHandle } =
      response as AuthenticatorAssertionResponse;
    return {
      id: textOf(rawId),
      response: {
        clientDataJSON: textOf(clientDataJSON),
        authenticatorData: textOf(authenticatorData),
        signature: textOf(signature),
        userHandle: textOf(userHandle ?? new ArrayBuffer()),
      },
    };
  });
}

/** Signs in with a signature that the browser has made with a passkey. */
export const signIn = (credential: UsedCredential, code?: string) =>
  call("post", "/v1/auth/passkeys/sign-in", "anyone", {
    credential,
    ...(code !== undefined && { totp_code: code }),
  });
