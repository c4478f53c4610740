import { create, type JsonObject, toJson } from "@bufbuild/protobuf";
import { MODEL_MEDIA } from "@devtool/internal/model-media";
import {
  confirmationsOf,
  ErrorDetailsSchema,
  type File,
  isEnded,
  type Message,
  OPTION_CANCEL,
  type Part,
  PartSchema,
  type ToolCall,
  type ToolCallConfirmation,
  ToolCallStatus,
  type ToolOutput,
} from "@devtool/schema";
import { quoted } from "@devtool/server/agent";

/**
 * The maximum size of the images and sounds of results in a request, in bytes.
 * APIs refuse requests of more than 20 MB, as base64.
 */
const MAX_FILE_BYTES: number = 8 * 1024 * 1024;

/** The results of the calls in a conversation, as a model is told them. */
export class CallResults {
  /** The user's answers to calls, by the ids of the calls. */
  readonly #answers = new Map<string, ToolCallConfirmation>();

  /** The ids of the calls whose arguments the user wrote. */
  readonly #edited: ReadonlySet<string>;

  /** The images and sounds of results that fit, by the ids of the calls. */
  readonly #files = new Map<string, readonly File[]>();

  /** Why files of results are not shown, by the ids of the calls. */
  readonly #leftOut = new Map<string, string>();

  /** `history` is that of the request (`ModelRequest.history`). */
  constructor(history: readonly Message[]) {
    const parts = history.flatMap((message) => message.parts);
    this.#edited = new Set(
      parts.flatMap(({ content, toolCallDetail }) =>
        content.case === "toolCall" && toolCallDetail?.argumentsEditor
          ? [content.value.toolCallId]
          : [],
      ),
    );
    let restBytes = MAX_FILE_BYTES;
    for (const { content, toolCallDetail } of parts.toReversed()) {
      if (content.case !== "toolCall" || !toolCallDetail) continue;
      const { toolCallId } = content.value;
      const { files } = toolCallDetail;
      const media = files.filter(({ mediaType }) =>
        MODEL_MEDIA.test(mediaType.toLowerCase()),
      );
      const fitting = media.filter(({ source }) => {
        const bytes = source.case === "bytes" ? source.value.length : 0;
        if (bytes > restBytes) return false;
        restBytes -= bytes;
        return true;
      });
      this.#files.set(toolCallId, fitting);
      const leftOut = [
        ...files
          .filter((file) => !media.includes(file))
          .map(
            ({ mediaType }) =>
              `A file of type ${quoted(mediaType)} of this result is not shown: it is not an image or a sound that models take.`,
          ),
        ...(media.length > fitting.length
          ? [
              `${media.length - fitting.length} images or sounds of this result are not shown any more.`,
            ]
          : []),
      ];
      if (leftOut.length > 0) this.#leftOut.set(toolCallId, leftOut.join(" "));
    }
    for (const answer of history.flatMap(confirmationsOf)) {
      // The last answer decides. The content that the user gave can be in an
      // earlier one, as when they used an editor.
      const changed = answer.modifiedDetails.case
        ? answer
        : this.#answers.get(answer.toolCallId);
      this.#answers.set(answer.toolCallId, {
        ...answer,
        modifiedDetails: (changed ?? answer).modifiedDetails,
      });
    }
  }

  /**
   * Returns the result of a call as `output` or `error`, with a `note` if the
   * user changed what the call proposed, or if files of the result are not shown:
   * those of other types than models take, and images and sounds that are too
   * large to be in this request beside newer ones.
   */
  describe(call: ToolCall): JsonObject {
    const answer = this.#answers.get(call.toolCallId);
    const response = encodeResult(call, answer);
    if (call.result.case && answer?.modifiedDetails.case === "fileDetails") {
      response.note =
        "The user changed the proposed content before it was written; the arguments of the call show theirs.";
    } else if (this.#edited.has(call.toolCallId)) {
      response.note =
        "The user changed the arguments of this call; they are shown as the user wrote them.";
    }
    const leftOut = this.#leftOut.get(call.toolCallId);
    if (leftOut !== undefined) {
      response.note = [response.note, leftOut].filter(Boolean).join(" ");
    }
    return response;
  }

  /**
   * Returns the images and sounds of a result that fit as parts of the user's,
   * with the name of the tool. The newest ones fit first.
   */
  fileParts({ toolCallId, toolName }: ToolCall): Part[] {
    const files = this.#files.get(toolCallId) ?? [];
    return files.map((file) =>
      create(PartSchema, {
        content: {
          case: "file",
          value: { ...file, name: `result of ${toolName}` },
        },
      }),
    );
  }

  /**
   * Returns the same as text, for APIs whose results have no fields, and
   * whether the call failed.
   */
  render(call: ToolCall): { readonly text: string; readonly isError: boolean } {
    const { output, error, note } = this.describe(call);
    const texts = [error, output, note]
      .filter((value) => value !== undefined)
      .map((value) =>
        typeof value === "string" ? value : JSON.stringify(value),
      );
    return { text: texts.join("\n\n"), isError: error !== undefined };
  }
}

/**
 * Returns what a model is told in place of the messages that the summaries of
 * a message replace.
 */
export function summaryTexts({ parts }: Message): string[] {
  return parts.flatMap(({ content }) =>
    content.case === "summary"
      ? [`What was said and done before, in short:\n\n${content.value.text}`]
      : [],
  );
}

function encodeResult(
  call: ToolCall,
  answer: ToolCallConfirmation | undefined,
): JsonObject {
  const { result, liveContent } = call;
  switch (result.case) {
    case "output":
      return { output: encodeOutput(result.value) };
    case "error":
      return { error: toJson(ErrorDetailsSchema, result.value) };
    case undefined: {
      const error = explainNoResult(call, answer);
      return liveContent ? { error, output: liveContent } : { error };
    }
    default:
      return result satisfies never;
  }
}

function encodeOutput({ result }: ToolOutput): JsonObject | string {
  switch (result.case) {
    case "text":
      return result.value;
    case "diff":
      return `Changed ${result.value.filePath}.\n${result.value.formattedDiff ?? ""}`;
    case "structuredData":
      return result.value;
    case undefined:
      return "";
    default:
      return result satisfies never;
  }
}

/** Explains to a model why a call has no result. */
function explainNoResult(
  call: ToolCall,
  answer: ToolCallConfirmation | undefined,
): string {
  if (answer?.selectedOptionId === OPTION_CANCEL) {
    return "The user declined this call, so it did not run. Do not make it again unless the user asks for it.";
  }
  if (call.status === ToolCallStatus.CANCELLED) {
    return "The call was canceled before it ended.";
  }
  return isEnded(call)
    ? "The call ended without a result."
    : "The call has not ended.";
}
