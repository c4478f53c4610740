import { oneLine } from "@devtool/internal/visible-text";
import * as vscode from "vscode";
import type { Reviews } from "../review/reviews.ts";
import { followSessions, type SessionsDisplay } from "./follow-sessions.ts";
import { keyOf } from "./question.ts";
import { QuestionViews } from "./question-views.ts";
import { serverAddress } from "./server-address.ts";
import type { Row, SessionTree } from "./session-tree.ts";

/** The parts of the view in the side bar. */
export interface SessionsView {
  readonly tree: SessionTree;
  readonly view: vscode.TreeView<Row>;
}

/**
 * Shows the sessions of the server that the settings name, and opens their
 * questions.
 */
export function showSessions(
  { tree, view }: SessionsView,
  reviews: Reviews,
  { secrets, subscriptions }: vscode.ExtensionContext,
): void {
  const questions = new QuestionViews(reviews);
  const display: SessionsDisplay = {
    show(sessions, asked) {
      const all = [...asked.values()].flat();
      tree.show(sessions, asked);
      view.badge = badgeOf(all.length);
      // A view that cannot be closed now is closed by the user.
      questions.keepOnly(new Set(all.map(keyOf))).catch(() => undefined);
    },
    say(text) {
      view.message = text === undefined ? "" : oneLine(text);
    },
  };
  let following = new AbortController();
  const follow = async (): Promise<void> => {
    following.abort();
    following = new AbortController();
    const { signal } = following;
    display.show([], new Map());
    await followSessions(await serverAddress(secrets), display, signal);
  };
  subscriptions.push(
    questions,
    new vscode.Disposable(() => following.abort()),
    vscode.commands.registerCommand("devtool.openQuestion", (key: unknown) => {
      const question = tree.find(key);
      return question && questions.open(question);
    }),
    secrets.onDidChange(() => void follow()),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("devtool.url")) void follow();
    }),
  );
  void follow();
}

function badgeOf(count: number): vscode.ViewBadge | undefined {
  if (count === 0) return undefined;
  return { value: count, tooltip: `${count} questions of agents` };
}
