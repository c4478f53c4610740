import type { Content } from "@google/genai";

/**
 * Returns the bytes of a signature that Gemini gave with a call.
 *
 * The text is not decoded: Gemini must get back exactly the characters that it sent, whichever base64 alphabet they are in.
 */
export function decodeSignature(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** Returns the text of a signature, as Gemini sent it. */
export function encodeSignature(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

/** Whether a signature may be Gemini's. Those of other models are JSON, which Gemini refuses. */
export function isGeminiSignature(signature: string): boolean {
  return signature !== "" && !signature.startsWith("{");
}

/** The value that Google documents for calls of another model, for instance after the session changed its model. */
const NO_SIGNATURE = "skip_thought_signature_validator";

/** Adds a signature to the first call of each step that has none: models since Gemini 3 refuse a first call without one. */
export function signContents(contents: readonly Content[]): Content[] {
  return contents.map((content) => {
    const { parts = [] } = content;
    const first = parts.findIndex(({ functionCall }) => functionCall);
    const signed = parts.map((part, index) =>
      index === first && !part.thoughtSignature ? { ...part, thoughtSignature: NO_SIGNATURE } : part,
    );
    return { ...content, parts: signed };
  });
}
