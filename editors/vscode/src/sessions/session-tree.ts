import { basename } from "node:path";
import { oneLine } from "@devtool/internal/visible-text";
import { TaskState, type TaskSummary } from "@devtool/schema";
import * as vscode from "vscode";
import { keyOf, type Question, textOf, titleOf } from "./question.ts";

/** A row of the view: a session, or a question below it. */
export type Row =
  | { readonly case: "session"; readonly session: TaskSummary }
  | { readonly case: "question"; readonly question: Question };

/** The sessions of a server, those that wait for the user first. */
export class SessionTree implements vscode.TreeDataProvider<Row> {
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.#changed.event;
  #sessions: readonly TaskSummary[] = [];
  #questions: ReadonlyMap<string, readonly Question[]> = new Map();

  /** @param questions those of each session, by its id */
  show(
    sessions: readonly TaskSummary[],
    questions: ReadonlyMap<string, readonly Question[]>,
  ): void {
    this.#sessions = [
      ...sessions.filter(isWaiting),
      ...sessions.filter((session) => !isWaiting(session)),
    ];
    this.#questions = questions;
    this.#changed.fire();
  }

  /** The question with a key, if it is still asked. */
  find(key: unknown): Question | undefined {
    const all = [...this.#questions.values()].flat();
    return all.find((question) => keyOf(question) === key);
  }

  getChildren(row?: Row): Row[] {
    if (!row) {
      return this.#sessions.map((session) => ({ case: "session", session }));
    }
    if (row.case === "question") return [];
    const questions = this.#questions.get(row.session.id) ?? [];
    return questions.map((question) => ({ case: "question", question }));
  }

  getTreeItem(row: Row): vscode.TreeItem {
    return row.case === "session"
      ? this.#sessionItem(row.session)
      : questionItem(row.question);
  }

  #sessionItem(session: TaskSummary): vscode.TreeItem {
    const { id, title, agent, workspacePath, lastEvent } = session;
    const state = lastEvent?.state ?? TaskState.UNSPECIFIED;
    const hasQuestions = (this.#questions.get(id) ?? []).length > 0;
    const item = new vscode.TreeItem(
      oneLine(title || "Untitled"),
      hasQuestions
        ? vscode.TreeItemCollapsibleState.Expanded
        : vscode.TreeItemCollapsibleState.None,
    );
    // An item that gets its first question later is to be expanded then.
    item.id = `${id} ${hasQuestions}`;
    const where = [stateName(state), agent, basename(workspacePath)];
    item.description = oneLine(where.filter(Boolean).join(" · "));
    item.tooltip = oneLine(`${title}\u0020(${id})`);
    item.iconPath = new vscode.ThemeIcon(ICONS[state]);
    return item;
  }
}

/** Whether a session waits for the user. */
export function isWaiting({ lastEvent }: TaskSummary): boolean {
  return lastEvent?.state === TaskState.INPUT_REQUIRED;
}

function questionItem(question: Question): vscode.TreeItem {
  const item = new vscode.TreeItem(titleOf(question));
  item.id = keyOf(question);
  item.tooltip = textOf(question);
  item.iconPath = new vscode.ThemeIcon("question");
  item.command = {
    command: "devtool.openQuestion",
    title: "Open",
    arguments: [keyOf(question)],
  };
  return item;
}

function stateName(state: TaskState): string {
  return TaskState[state].toLowerCase().replaceAll("_", " ");
}

const ICONS: Readonly<Record<TaskState, string>> = {
  [TaskState.UNSPECIFIED]: "circle-outline",
  [TaskState.SUBMITTED]: "circle-outline",
  [TaskState.WORKING]: "sync",
  [TaskState.COMPLETED]: "pass",
  [TaskState.FAILED]: "error",
  [TaskState.CANCELED]: "circle-slash",
  [TaskState.INPUT_REQUIRED]: "bell-dot",
  [TaskState.REJECTED]: "error",
  [TaskState.AUTH_REQUIRED]: "key",
};
