import { toJsonString } from "@bufbuild/protobuf";
import { PushFormat, type TaskEvent, TaskEventSchema } from "@devtool/schema";

/** How an event becomes the body of a post. */
export interface PushEncoding {
  /** The media type of the body. */
  readonly contentType: string;
  /** Writes an event; undefined when the format shows nothing of it, so that nothing is posted. */
  encode(event: TaskEvent): string | undefined;
}

/** The formats that a server posts in. */
export type PushEncodings = ReadonlyMap<PushFormat, PushEncoding>;

/** The event itself, as it is streamed over Connect. */
export const taskEventEncoding: PushEncoding = {
  contentType: "application/json",
  encode: (event) => toJsonString(TaskEventSchema, event),
};

/** Returns whether two formats are one to a client that names neither: with the payloads of the extension, always or once it is active. */
export function isSameFormat(one: PushFormat, other: PushFormat): boolean {
  return (FULL_FORMATS.get(one) ?? one) === (FULL_FORMATS.get(other) ?? other);
}

const FULL_FORMATS: ReadonlyMap<PushFormat, PushFormat> = new Map([
  [PushFormat.A2A_V03_INHERITED, PushFormat.A2A_V03],
  [PushFormat.A2A_V1_INHERITED, PushFormat.A2A_V1],
]);
