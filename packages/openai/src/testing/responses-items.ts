import { createHash } from "node:crypto";
import {
  halves,
  type PlannedCall,
} from "@devtool/coding-agent/testing/fake-model";
import {
  listOrEmpty,
  objectOrEmpty,
  stringOrEmpty,
} from "@devtool/internal/json";
import type {
  ResponseCustomToolCall,
  ResponseFunctionToolCall,
  ResponseOutputItem,
  ResponseReasoningItem,
  ResponseStreamEvent,
  ResponseToolSearchCall,
} from "openai/resources/responses/responses";

/** An event without its number. */
export type Unnumbered = ResponseStreamEvent extends infer Event
  ? Event extends { sequence_number: number }
    ? Omit<Event, "sequence_number">
    : never
  : never;

/** The id of an item and its index in the output, as its events name them. */
export interface ItemPlace {
  readonly item_id: string;
  readonly output_index: number;
}

/** An item of the output that is generated in one step. */
export interface GeneratedItem {
  /** The item when it is added, without its content. */
  readonly begun: ResponseOutputItem;
  /** The events that bring its content in pieces. */
  readonly events: readonly Unnumbered[];
  /** The item when it is done. */
  readonly item: ResponseOutputItem;
}

/**
 * Returns a reasoning item: with a summary if the request asks for one, and
 * with encrypted content if the request asks for that.
 *
 * @param body the request
 */
export function reasoningItem(
  place: ItemPlace,
  text: string,
  body: Readonly<Record<string, unknown>>,
): GeneratedItem {
  const id = place.item_id;
  const begun: ResponseReasoningItem = { id, type: "reasoning", summary: [] };
  const hasSummary = typeof objectOrEmpty(body.reasoning).summary === "string";
  const isEncrypted = listOrEmpty(body.include).includes(
    "reasoning.encrypted_content",
  );
  const part = { type: "summary_text", text } as const;
  const item = { ...begun, summary: hasSummary ? [part] : [] };
  return {
    begun,
    events: hasSummary ? summaryEvents(place, text) : [],
    item: isEncrypted
      ? { ...item, encrypted_content: encryptReasoning(id) }
      : item,
  };
}

function summaryEvents(place: ItemPlace, text: string): Unnumbered[] {
  const at = { ...place, summary_index: 0 };
  return [
    {
      type: "response.reasoning_summary_part.added",
      ...at,
      part: { type: "summary_text", text: "" },
    },
    ...halves(text).map((delta) => ({
      type: "response.reasoning_summary_text.delta" as const,
      ...at,
      delta,
    })),
    { type: "response.reasoning_summary_text.done", ...at, text },
    {
      type: "response.reasoning_summary_part.done",
      ...at,
      part: { type: "summary_text", text },
    },
  ];
}

/** Returns a call of a tool whose input is a text. */
export function customCallItem(
  place: ItemPlace,
  { id: call_id, name, args }: PlannedCall,
): GeneratedItem {
  const input = stringOrEmpty(objectOrEmpty(args).input);
  const item: ResponseCustomToolCall = {
    id: place.item_id,
    type: "custom_tool_call",
    call_id,
    name,
    input,
  };
  return {
    begun: { ...item, input: "" },
    events: [
      ...halves(input).map((delta) => ({
        type: "response.custom_tool_call_input.delta" as const,
        ...place,
        delta,
      })),
      { type: "response.custom_tool_call_input.done", ...place, input },
    ],
    item,
  };
}

/** What a script calls the search for tools, which has no name in the API. */
export const TOOL_SEARCH = "tool_search";

/** Returns a search for tools that the client does. */
export function toolSearchItem(
  place: ItemPlace,
  { id: call_id, args }: PlannedCall,
): GeneratedItem {
  const item: ResponseToolSearchCall = {
    id: place.item_id,
    type: "tool_search_call",
    call_id,
    execution: "client",
    arguments: args,
    status: "completed",
  };
  return { begun: { ...item, status: "in_progress" }, events: [], item };
}

/**
 * Returns a call of a function.
 *
 * @param namespace the one of the function; undefined where it has none
 */
export function functionCallItem(
  place: ItemPlace,
  { id: call_id, name, args }: PlannedCall,
  namespace: string | undefined,
): GeneratedItem {
  const whole = JSON.stringify(args);
  const item: ResponseFunctionToolCall = {
    id: place.item_id,
    type: "function_call",
    call_id,
    name,
    ...(namespace !== undefined && { namespace }),
    arguments: whole,
    status: "completed",
  };
  // The name is in OpenAI's description of the API, but not in the types of
  // its SDK.
  const done = { ...place, name, arguments: whole };
  return {
    begun: { ...item, arguments: "", status: "in_progress" },
    events: [
      ...halves(whole).map((delta) => ({
        type: "response.function_call_arguments.delta" as const,
        ...place,
        delta,
      })),
      { type: "response.function_call_arguments.done", ...done },
    ],
    item,
  };
}

/** Returns the encrypted content of a reasoning item. */
export function encryptReasoning(id: string): string {
  return createHash("sha256").update(`reasoning ${id}`).digest("base64");
}

/**
 * Lists the tools that the client of a request found for the model
 * (`tool_search_output`).
 */
export function foundTools({
  input,
}: Readonly<Record<string, unknown>>): unknown[] {
  return listOrEmpty(input)
    .map(objectOrEmpty)
    .filter(({ type }) => type === "tool_search_output")
    .flatMap(({ tools }) => listOrEmpty(tools));
}
