import { toJsonString } from "@bufbuild/protobuf";
import {
  PushFormat,
  type Task,
  type TaskEvent,
  TaskEventSchema,
} from "@devtool/schema";

/** Encodes events as bodies of posts. */
export interface PushEncoding {
  /** The media type of the body. */
  readonly contentType: string;

  /**
   * Encodes an event. Undefined when the format has nothing to show for it, and
   * nothing is posted.
   *
   * @param readTask - Reads the task as the event left it.
   */
  encode(
    event: TaskEvent,
    readTask: () => Promise<Task>,
  ): Promise<string | undefined>;
}

/** The encoding of each format that a server posts. */
export type PushEncodings = ReadonlyMap<PushFormat, PushEncoding>;

/** Encodes the event itself, as Connect streams it. */
export const taskEventEncoding: PushEncoding = {
  contentType: "application/json",
  encode: async (event) => toJsonString(TaskEventSchema, event),
};

/**
 * Whether a client that names no format cannot tell two formats apart. The
 * `INHERITED` formats of A2A include the payloads of the extension only once
 * the conversation has activated it.
 */
export function isSameFormat(one: PushFormat, other: PushFormat): boolean {
  return (FULL_FORMATS.get(one) ?? one) === (FULL_FORMATS.get(other) ?? other);
}

const FULL_FORMATS: ReadonlyMap<PushFormat, PushFormat> = new Map([
  [PushFormat.A2A_V03_INHERITED, PushFormat.A2A_V03],
  [PushFormat.A2A_V1_INHERITED, PushFormat.A2A_V1],
]);
