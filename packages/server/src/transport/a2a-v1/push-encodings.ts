import { PushFormat } from "@devtool/schema";
import type { PushEncoding } from "../../push/push-format.ts";
import { type AskedView, viewOf } from "../a2a/activation.ts";
import { withAnswer } from "../a2a/turn-answer.ts";

/** The push format of configs that are set in each view. */
export const PUSH_FORMATS: Readonly<Record<AskedView, PushFormat>> = {
  extension: PushFormat.A2A_V1,
  plain: PushFormat.A2A_V1_PLAIN,
  inherited: PushFormat.A2A_V1_INHERITED,
};

/**
 * The encodings of notifications for configs set over A2A 1.0: each event as an
 * element of a stream (section 4.3.3).
 *
 * What they need is loaded by the first post: most servers have no webhook.
 */
export const A2A_V1_PUSH_ENCODINGS: readonly (readonly [
  PushFormat,
  PushEncoding,
])[] = [
  [PUSH_FORMATS.extension, encodingFor("extension")],
  [PUSH_FORMATS.plain, encodingFor("plain")],
  [PUSH_FORMATS.inherited, encodingFor("inherited")],
];

function encodingFor(view: AskedView): PushEncoding {
  return {
    contentType: "application/a2a+json",
    encode: async (event, readTask) => {
      const shown = viewOf(view, event);
      const post =
        shown === "plain" ? await withAnswer(event, readTask) : event;
      const { encodeResponse, streamResponseFor } = await import("./frames.ts");
      const response = streamResponseFor(post, shown);
      return response && encodeResponse(response);
    },
  };
}
