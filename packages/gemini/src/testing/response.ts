import type {
  AnswerContext,
  Content,
  Plan,
  StreamEncoder,
} from "@devtool/coding-agent/testing/fake-model";
import {
  defined,
  listOrEmpty,
  objectOrEmpty,
  stringOrEmpty,
} from "@devtool/internal/json";

/** A part of a response in the API. */
interface Part {
  readonly text?: string;
  readonly thought?: boolean;
  readonly functionCall?: {
    readonly name: string;
    readonly args: unknown;
    readonly id: string;
  };
  readonly thoughtSignature?: string;
}

/** A response of the API, or a chunk of one. */
interface Response {
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

/** Returns the encoder of a streamed response. */
export function streamEncoder(context: AnswerContext): StreamEncoder {
  return {
    begin: () => "",
    content: (content) =>
      encodeFrame(createChunk(partsOf(content, context), context)),
    end: (plan) => encodeFrame(createLastChunk([], context, plan)),
    malformed: 'data: {"candidates": [{"content": {"parts"\r\n\r\n',
    aroundText: [
      'data: {"candidates":[{"content":{"role":"model","parts":[{"text":"',
      '"}]},"finishReason":"STOP","index":0}]}\r\n\r\n',
    ],
  };
}

function encodeFrame(response: Response): string {
  return `data: ${JSON.stringify(response)}\r\n\r\n`;
}

/** Returns the parts of a piece. The first call of a turn has the signature. */
function partsOf(content: Content, { serial }: AnswerContext): Part[] {
  switch (content.case) {
    case "text":
      return [{ text: content.text }];
    case "thought":
      return [{ thought: true, text: content.text }];
    case "calls": {
      const signature = Buffer.from(`signature ${serial}`).toString("base64");
      return content.calls.map(({ name, args, id, isFirst }) => {
        const functionCall = { name, args, id };
        return isFirst
          ? { functionCall, thoughtSignature: signature }
          : { functionCall };
      });
    }
    default:
      return content satisfies never;
  }
}

function createChunk(
  parts: readonly Part[],
  { model, serial }: AnswerContext,
): Response {
  return {
    candidates: [{ content: { role: "model", parts }, index: 0 }],
    modelVersion: model,
    responseId: `fake-${serial}`,
  };
}

/**
 * Creates the last chunk of a response, with the finish reason and the usage.
 */
function createLastChunk(
  parts: readonly Part[],
  context: AnswerContext,
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
      promptTokenCount: context.inputTokens,
      candidatesTokenCount,
      totalTokenCount: context.inputTokens + candidatesTokenCount,
    },
  };
}

/** Creates the whole response at once. Adjacent texts are joined. */
export function createWholeResponse(
  plan: Plan,
  context: AnswerContext,
): Response {
  const parts: Part[] = [];
  for (const part of plan.items.flatMap((item) =>
    item.case === "pause" || item.case === "drip" ? [] : partsOf(item, context),
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
