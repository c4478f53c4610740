import { toJsonString } from "@bufbuild/protobuf";
import { type PushFormat, type TaskEvent, TaskEventSchema } from "@devtool/schema";

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
