import { PushFormat, type Task, type TaskEvent } from "@devtool/schema";
import { encodeStreamFrame } from "@devtool/schema/a2a-v03";
import { type AskedView, VIEWS, viewOf } from "../a2a/activation.ts";
import { withAnswer } from "../a2a/turn-answer.ts";

/** The push format of configs that are set in each view. */
export const PUSH_FORMATS: Readonly<Record<AskedView, PushFormat>> = {
  extension: PushFormat.A2A_V03,
  plain: PushFormat.A2A_V03_PLAIN,
  inherited: PushFormat.A2A_V03_INHERITED,
};

/**
 * Encodes an event for configs set over A2A 0.3: as the `result` that the frame
 * of a stream would have. Undefined for an event that the view does not show.
 */
export async function encodePost(
  format: PushFormat,
  event: TaskEvent,
  readTask: () => Promise<Task>,
): Promise<string | undefined> {
  const view = VIEWS.find((each) => PUSH_FORMATS[each] === format);
  if (!view) return undefined;
  const shown = viewOf(view, event);
  const post = shown === "plain" ? await withAnswer(event, readTask) : event;
  return encodeStreamFrame(post, shown);
}
