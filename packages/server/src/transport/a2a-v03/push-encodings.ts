import { PushFormat } from "@devtool/schema";
import type { PushEncoding } from "../../push/push-format.ts";
import { type AskedView, viewOf } from "../a2a/activation.ts";
import { withAnswer } from "../a2a/turn-answer.ts";

/** The push format of configs that are set in each view. */
export const PUSH_FORMATS: Readonly<Record<AskedView, PushFormat>> = {
  extension: PushFormat.A2A_V03,
  plain: PushFormat.A2A_V03_PLAIN,
  inherited: PushFormat.A2A_V03_INHERITED,
};

/**
 * The encodings of notifications for configs set over A2A 0.3: the `result`
 * that the frame of a stream would have.
 *
 * What they need is loaded by the first post: most servers have no webhook.
 */
export const A2A_V03_PUSH_ENCODINGS: readonly (readonly [
  PushFormat,
  PushEncoding,
])[] = [
  [PUSH_FORMATS.extension, encodingFor("extension")],
  [PUSH_FORMATS.plain, encodingFor("plain")],
  [PUSH_FORMATS.inherited, encodingFor("inherited")],
];

function encodingFor(view: AskedView): PushEncoding {
  return {
    contentType: "application/json",
    encode: async (event, readTask) => {
      const shown = viewOf(view, event);
      const post =
        shown === "plain" ? await withAnswer(event, readTask) : event;
      const { encodeStreamFrame } = await import("@devtool/schema/a2a-v03");
      return encodeStreamFrame(post, shown);
    },
  };
}
