import { setTimeout as delay } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import {
  type Message,
  MessageSchema,
  OPTION_CANCEL,
  OPTION_PROCEED_ONCE,
  Role,
  ToolCallConfirmationSchema,
} from "@devtool/schema";
import { type CommandContext, quoted, type Turn } from "@devtool/server/agent";
import type { IdeAnswer } from "../tool/ide.ts";
import { type PreparedCall, withAnswer } from "../tool/prepared-call.ts";
import type { UserIde } from "./user-ide.ts";

/** Where edits are shown. */
interface EditView {
  readonly ide: UserIde;
  readonly place: CommandContext;
  /** Creates the id of a message. */
  readonly nextId: () => string;
  /** Receives notices for the operator, as plain text. */
  readonly onNotice: (text: string) => void;
}

/** A call that asks, and the turn that it belongs to. */
interface AskedEdit {
  readonly asked: PreparedCall;
  readonly turn: Pick<Turn, "answer">;
}

/** How often an editor may fail to show an edit. */
const MAX_FAILURES = 30;

/** The time before a first failure is repeated, in milliseconds; then doubled. */
const RETRY_MS = 1000;

/** The longest time before a failure is repeated, in milliseconds. */
const MAX_RETRY_MS = 30_000;

/**
 * Shows the edit of a call that asks in the user's editor until the signal
 * aborts. What the user decides there answers the call; with content of their
 * own, that content is approved. Closing the diff declines, as it does for other
 * agents.
 *
 * Never rejects: without an editor, the question waits elsewhere.
 */
export async function showEdit(
  { ide, place, nextId, onNotice }: EditView,
  { asked, turn }: AskedEdit,
  signal: AbortSignal,
): Promise<void> {
  const details = asked.invocation?.confirmation;
  if (details?.case !== "fileEditDetails") return;
  const { filePath, newContent } = details.value;
  let failures = 0;
  // An editor may be opened while the question waits.
  for await (const turned of ide.changes(place, signal)) {
    const shown = AbortSignal.any([signal, turned]);
    while (!shown.aborted) {
      try {
        const found = await ide.connect(place, signal);
        if (found.case === "none" || !found.link.showsDiffs) break;
        const { link } = found;
        const answer = await link.openDiff(filePath, newContent, shown);
        const message = messageOf(asked, answer, nextId());
        return await turn.answer(message, link.editor);
      } catch (reason) {
        if (shown.aborted) break;
        if (++failures >= MAX_FAILURES) {
          const why = reason instanceof Error ? reason.message : String(reason);
          onNotice(`${quoted(filePath)} is not shown in the editor: ${why}`);
          return;
        }
        const ms = Math.min(RETRY_MS * 2 ** (failures - 1), MAX_RETRY_MS);
        await delay(ms, undefined, { signal: shown, ref: false }).catch(
          () => undefined,
        );
      }
    }
  }
}

/** Returns the answer of an editor as a message of the user. */
function messageOf(
  { call, detail, invocation }: PreparedCall,
  answer: IdeAnswer,
  messageId: string,
): Message {
  const details = invocation?.confirmation;
  const proposed =
    details?.case === "fileEditDetails" ? details.value.newContent : undefined;
  const isAccepted = answer.case === "accepted";
  const confirmation = create(ToolCallConfirmationSchema, {
    toolCallId: call.toolCallId,
    selectedOptionId: isAccepted ? OPTION_PROCEED_ONCE : OPTION_CANCEL,
    ...(isAccepted &&
      answer.content !== proposed && {
        modifiedDetails: {
          case: "fileDetails",
          value: { newContent: answer.content },
        },
      }),
  });
  // Content that no file may have throws here, before it is an answer.
  if (invocation) withAnswer(invocation, confirmation);
  return create(MessageSchema, {
    messageId,
    role: Role.USER,
    parts: [
      {
        content: { case: "confirmation", value: confirmation },
        shownDigest: detail.digest,
      },
    ],
  });
}
