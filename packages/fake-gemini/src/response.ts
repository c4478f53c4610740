import {
  defined,
  listOrEmpty,
  objectOrEmpty,
  stringOrEmpty,
} from "@devtool/schema/json";
import type { Part, Plan } from "./plan.ts";

/** The fields that all chunks of a response have in common. */
export interface ResponseContext {
  readonly model: string;
  readonly responseId: string;
  readonly promptTokens: number;
}

/** A response of the API, or a chunk of one. */
export interface Response {
  readonly candidates: readonly Candidate[];
  readonly modelVersion: string;
  readonly responseId: string;
  readonly usageMetadata?: {
    readonly promptTokenCount: number;
    readonly candidatesTokenCount: number;
    readonly totalTokenCount: number;
  };
}

interface Candidate {
  readonly content: { readonly role: "model"; readonly parts: readonly Part[] };
  readonly index: number;
  readonly finishReason?: string;
  /** With the names of the Gemini API and of Vertex AI. */
  readonly citationMetadata?: {
    readonly citationSources: readonly Source[];
    readonly citations: readonly Source[];
  };
}

interface Source {
  readonly uri: string;
  readonly license: string;
}

/** Creates a chunk with parts. */
export function createChunk(
  parts: readonly Part[],
  { model, responseId }: ResponseContext,
): Response {
  return {
    candidates: [{ content: { role: "model", parts }, index: 0 }],
    modelVersion: model,
    responseId,
  };
}

/**
 * Creates the last chunk of a response, with the finish reason and the usage.
 */
export function createLastChunk(
  parts: readonly Part[],
  context: ResponseContext,
  plan: Plan,
): Response {
  const candidatesTokenCount = plan.items.length;
  const citations = plan.citations.map((uri) => ({ uri, license: "" }));
  const isEmptyEnd = plan.end.case === "break" && plan.end.how === "empty";
  const candidate: Candidate = defined({
    content: { role: "model", parts },
    index: 0,
    finishReason:
      plan.end.case === "finish"
        ? plan.end.reason
        : isEmptyEnd
          ? "STOP"
          : undefined,
    citationMetadata:
      citations.length > 0
        ? { citationSources: citations, citations }
        : undefined,
  });
  return {
    ...createChunk([], context),
    candidates: [candidate],
    usageMetadata: {
      promptTokenCount: context.promptTokens,
      candidatesTokenCount,
      totalTokenCount: context.promptTokens + candidatesTokenCount,
    },
  };
}

/** Creates the whole response at once. Adjacent texts are joined. */
export function createWholeResponse(
  plan: Plan,
  context: ResponseContext,
): Response {
  const parts: Part[] = [];
  for (const part of plan.items.flatMap((item) =>
    item.case === "parts" ? item.parts : [],
  )) {
    const last = parts.at(-1);
    const joins =
      last?.text !== undefined &&
      part.text !== undefined &&
      last.thought === part.thought;
    if (joins) {
      parts.splice(-1, 1, { ...last, text: `${last.text}${part.text}` });
    } else {
      parts.push(part);
    }
  }
  return createLastChunk(parts, context, plan);
}

/** Estimates the number of tokens, at four characters each. */
export function estimateTokens(value: unknown): number {
  return Math.ceil(JSON.stringify(value ?? "").length / 4);
}

/**
 * Returns the smallest value that a schema of OpenAPI or JSON Schema allows.
 */
export function minimalValue(schema: unknown, name = ""): unknown {
  const {
    enum: choices,
    type,
    minimum,
    properties,
    required,
  } = objectOrEmpty(schema);
  const [first] = listOrEmpty(choices);
  if (first !== undefined) {
    return name === "next_speaker" && listOrEmpty(choices).includes("user")
      ? "user"
      : first;
  }
  switch (stringOrEmpty(type).toLowerCase()) {
    case "array":
      return [];
    case "boolean":
      return false;
    case "integer":
    case "number":
      return minimum ?? 0;
    case "string":
      return "scripted";
    default: {
      const fields = objectOrEmpty(properties);
      const names = listOrEmpty(required ?? Object.keys(fields)).map(
        stringOrEmpty,
      );
      return Object.fromEntries(
        names.map((key) => [key, minimalValue(fields[key], key)]),
      );
    }
  }
}
