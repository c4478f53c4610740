import { isObject, listOf, member, textOf } from "./json.ts";
import type { Part, Plan } from "./plan.ts";

/** What all responses of one answer share. */
export interface ResponseContext {
  readonly model: string;
  readonly responseId: string;
  readonly promptTokens: number;
}

/** One response of the API: a piece of an answer. */
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
  /** Under both names: the Gemini API's and Vertex AI's. */
  readonly citationMetadata?: { readonly citationSources: readonly Source[]; readonly citations: readonly Source[] };
}

interface Source {
  readonly uri: string;
  readonly license: string;
}

/** The response that carries parts of an answer. */
export function pieceOf(parts: readonly Part[], { model, responseId }: ResponseContext): Response {
  return { candidates: [{ content: { role: "model", parts }, index: 0 }], modelVersion: model, responseId };
}

/** The response that ends an answer, with the parts that go with it. */
export function lastPiece(parts: readonly Part[], context: ResponseContext, plan: Plan): Response {
  const candidatesTokenCount = plan.items.length;
  const citations = plan.citations.map((uri) => ({ uri, license: "" }));
  const candidate: Candidate = {
    content: { role: "model", parts },
    index: 0,
    ...(plan.end.case === "finish" && { finishReason: plan.end.reason }),
    ...(plan.end.case === "break" && plan.end.how === "empty" && { finishReason: "STOP" }),
    ...(citations.length > 0 && { citationMetadata: { citationSources: citations, citations } }),
  };
  return {
    ...pieceOf([], context),
    candidates: [candidate],
    usageMetadata: {
      promptTokenCount: context.promptTokens,
      candidatesTokenCount,
      totalTokenCount: context.promptTokens + candidatesTokenCount,
    },
  };
}

/** The whole answer in one response; neighbouring texts are joined. */
export function wholeAnswer(plan: Plan, context: ResponseContext): Response {
  const parts: Part[] = [];
  for (const part of plan.items.flatMap((item) => (item.case === "parts" ? item.parts : []))) {
    const last = parts.at(-1);
    const joins = last?.text !== undefined && part.text !== undefined && last.thought === part.thought;
    if (joins) parts.splice(-1, 1, { ...last, text: `${last.text}${part.text}` });
    else parts.push(part);
  }
  return lastPiece(parts, context, plan);
}

/** Estimates tokens: four characters each. */
export function estimateTokens(value: unknown): number {
  return Math.ceil(JSON.stringify(value ?? "").length / 4);
}

/** The smallest value that a schema allows, in OpenAPI's or JSON Schema's words. */
export function minimalValue(schema: unknown, name = ""): unknown {
  const choices = listOf(member(schema, "enum"));
  if (choices.length > 0) return name === "next_speaker" && choices.includes("user") ? "user" : choices[0];
  const properties = member(schema, "properties");
  switch (textOf(member(schema, "type")).toLowerCase()) {
    case "array":
      return [];
    case "boolean":
      return false;
    case "integer":
    case "number":
      return member(schema, "minimum") ?? 0;
    case "string":
      return "scripted";
    default: {
      const required = member(schema, "required") ?? Object.keys(isObject(properties) ? properties : {});
      return Object.fromEntries(
        listOf(required).map((key) => [key, minimalValue(member(properties, textOf(key)), textOf(key))]),
      );
    }
  }
}
