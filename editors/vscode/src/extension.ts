import { type Companion, startCompanion } from "@devtool/ide";
import * as vscode from "vscode";
import { OpenFiles } from "./open-files.ts";
import { Reviews } from "./review/reviews.ts";
import { askForToken } from "./sessions/server-address.ts";
import { SessionTree } from "./sessions/session-tree.ts";
import { VsCodeEditor } from "./vs-code-editor.ts";

/** Undefined before a start and after a failed one. */
let companion: Companion | undefined;

/** Called by the editor when a window is open. */
export async function activate(
  context: vscode.ExtensionContext,
): Promise<void> {
  const reviews = new Reviews();
  context.subscriptions.push(reviews);
  addSessions(context, reviews);
  await reviews.closeOld();
  await addCompanion(context, reviews);
}

/** Called by the editor when a window closes. */
export async function deactivate(): Promise<void> {
  await companion?.close();
}

async function addCompanion(
  { subscriptions, environmentVariableCollection }: vscode.ExtensionContext,
  reviews: Reviews,
): Promise<void> {
  const files = new OpenFiles();
  subscriptions.push(files);
  const settings = vscode.workspace.getConfiguration("devtool");
  try {
    const started = await startCompanion(new VsCodeEditor(files, reviews), {
      allowContainers: settings.get("allowContainers") === true,
    });
    companion = started;
    const setEnvironment = (): void =>
      setVariables(environmentVariableCollection, started.environment);
    setEnvironment();
    subscriptions.push(
      vscode.workspace.onDidChangeWorkspaceFolders(setEnvironment),
    );
    for (const problem of started.problems) warn(problem);
  } catch (reason) {
    warn(`agents cannot connect: ${String(reason)}`);
  }
}

/** Gives new terminals the variables, by which agents in them find us. */
function setVariables(
  collection: vscode.EnvironmentVariableCollection,
  environment: Readonly<Record<string, string>>,
): void {
  // They hold a token, and the port of this start.
  collection.persistent = false;
  collection.description = "Coding agents see what is open in this window.";
  for (const [name, value] of Object.entries(environment)) {
    collection.replace(name, value);
  }
}

/** Adds the view, which calls a server from when the user first looks at it. */
function addSessions(context: vscode.ExtensionContext, reviews: Reviews): void {
  const tree = new SessionTree();
  const view = vscode.window.createTreeView("devtool.sessions", {
    treeDataProvider: tree,
  });
  let isShown = false;
  const show = async (): Promise<void> => {
    if (isShown || !view.visible) return;
    isShown = true;
    const { showSessions } = await import("./sessions/sessions-view.ts");
    showSessions({ tree, view }, reviews, context);
  };
  context.subscriptions.push(
    view,
    view.onDidChangeVisibility(() => void show()),
    vscode.commands.registerCommand("devtool.setToken", () =>
      askForToken(context.secrets),
    ),
  );
  void show();
}

function warn(problem: string): void {
  void vscode.window.showWarningMessage(`devtool: ${problem}`);
}
