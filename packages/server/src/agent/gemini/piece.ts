import { statusFault } from "./http-fault.ts";
import { listOf, member, textOf } from "./json.ts";

/** A piece of an answer: what we use of the API's `GenerateContentResponse`. */
export interface Piece {
  readonly parts: readonly PiecePart[];
  readonly sources: readonly Source[];
  /** Why the answer ends with this piece; empty when it goes on. */
  readonly finishReason: string;
  readonly finishMessage: string;
  /** Why the prompt was blocked; empty when it was not. */
  readonly blockReason: string;
  readonly blockMessage: string;
  readonly usage: TokenCounts | undefined;
}

/** A part of a piece. */
export type PiecePart =
  | { readonly case: "text"; readonly value: string }
  | { readonly case: "thought"; readonly value: string }
  | {
      readonly case: "call";
      readonly id: string;
      readonly name: string;
      readonly args: unknown;
      readonly signature: string;
    };

/** A source that the answer names. */
export interface Source {
  readonly uri: string;
  readonly title: string;
  readonly license: string;
}

/** What an answer used so far, in tokens. */
export interface TokenCounts {
  readonly prompt: bigint;
  readonly toolUse: bigint;
  readonly cached: bigint;
  readonly answer: bigint;
  readonly thoughts: bigint;
}

/** Reads a piece from its JSON. What has another form than the API's is left out. Throws the fault that it may be. */
export function pieceFrom(json: unknown): Piece {
  const error = member(json, "error");
  if (error !== undefined) throw errorPiece(error);
  const candidate = listOf(member(json, "candidates"))[0];
  const feedback = member(json, "promptFeedback");
  return {
    parts: listOf(member(member(candidate, "content"), "parts")).flatMap(partFrom),
    sources: sourcesIn(candidate),
    finishReason: textOf(member(candidate, "finishReason")),
    finishMessage: textOf(member(candidate, "finishMessage")),
    blockReason: textOf(member(feedback, "blockReason")),
    blockMessage: textOf(member(feedback, "blockReasonMessage")),
    usage: usageFrom(member(json, "usageMetadata")),
  };
}

function errorPiece(error: unknown): Error {
  const code = member(error, "code");
  return statusFault(typeof code === "number" ? code : 500, JSON.stringify({ error }));
}

function partFrom(part: unknown): PiecePart[] {
  const call = member(part, "functionCall");
  if (call !== undefined) {
    const [id, name] = [textOf(member(call, "id")), textOf(member(call, "name"))];
    const signature = textOf(member(part, "thoughtSignature"));
    return [{ case: "call", id, name, args: member(call, "args") ?? {}, signature }];
  }
  const value = textOf(member(part, "text"));
  if (value === "") return [];
  return [{ case: member(part, "thought") === true ? "thought" : "text", value }];
}

/** Sources come as citations, which the Gemini API and Vertex AI name differently, and as what an answer stands on. */
function sourcesIn(candidate: unknown): Source[] {
  const cited = member(candidate, "citationMetadata");
  const grounding = member(candidate, "groundingMetadata");
  if (cited === undefined && grounding === undefined) return [];
  const chunks = listOf(member(grounding, "groundingChunks")).map((chunk) => member(chunk, "web"));
  const citations = member(cited, "citationSources") ?? member(cited, "citations");
  return [...listOf(citations), ...chunks].flatMap((source) => {
    const [uri, title] = [textOf(member(source, "uri")), textOf(member(source, "title"))];
    return uri + title === "" ? [] : [{ uri, title, license: textOf(member(source, "license")) }];
  });
}

function usageFrom(usage: unknown): TokenCounts | undefined {
  if (usage === undefined) return undefined;
  const tokens = (name: string): bigint => {
    const count = member(usage, name);
    return typeof count === "number" && Number.isSafeInteger(count) && count > 0 ? BigInt(count) : 0n;
  };
  return {
    prompt: tokens("promptTokenCount"),
    toolUse: tokens("toolUsePromptTokenCount"),
    cached: tokens("cachedContentTokenCount"),
    answer: tokens("candidatesTokenCount"),
    thoughts: tokens("thoughtsTokenCount"),
  };
}
