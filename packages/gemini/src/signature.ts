import type { Content, Part } from "@google/genai";

/**
 * Keeps the signature that Gemini gives with a call, as the bytes of its text: what goes back is letter by letter what
 * came, whichever base64 it is in.
 */
export function decodeSignature(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** The signature as Gemini gave it. */
export function encodeSignature(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

/** What Google's documentation gives for calls that no thinking model made, say after a change of the model. */
const NO_SIGNATURE = "skip_thought_signature_validator";

/** The contents with a signature in each step that calls: models since Gemini 3 refuse a first call without one. */
export function signedContents(contents: readonly Content[]): Content[] {
  return contents.map((content) => ({ ...content, parts: signedParts(content.parts ?? []) }));
}

function signedParts(parts: readonly Part[]): Part[] {
  const first = parts.findIndex(({ functionCall }) => functionCall);
  return parts.map((part, index) =>
    index === first && !part.thoughtSignature ? { ...part, thoughtSignature: NO_SIGNATURE } : part,
  );
}
