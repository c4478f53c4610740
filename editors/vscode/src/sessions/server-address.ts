import * as vscode from "vscode";

/** The server whose sessions are shown. */
export interface ServerAddress {
  /** Undefined: the one that runs on this machine, with its own token. */
  readonly url: string | undefined;
  /** Undefined: none is set. */
  readonly token: string | undefined;
}

/** The server that the settings name, with its token. */
export async function serverAddress(
  secrets: vscode.SecretStorage,
): Promise<ServerAddress> {
  const url = namedUrl();
  return { url, token: url && (await secrets.get(secretOf(url))) };
}

/** Asks for the token of the server that the settings name, and keeps it. */
export async function askForToken(
  secrets: vscode.SecretStorage,
): Promise<void> {
  const url = namedUrl();
  if (url === undefined) {
    const text =
      "devtool: the server on this machine needs no token; name another one in the setting devtool.url first";
    await vscode.window.showInformationMessage(text);
    return;
  }
  const token = await vscode.window.showInputBox({
    title: `Token of ${url}`,
    prompt: "It is kept in the secret storage of this machine. Empty: none.",
    password: true,
    ignoreFocusOut: true,
  });
  if (token === undefined) return;
  await (token.trim() === ""
    ? secrets.delete(secretOf(url))
    : secrets.store(secretOf(url), token.trim()));
}

function namedUrl(): string | undefined {
  const url = vscode.workspace.getConfiguration("devtool").get("url");
  return typeof url === "string" && url.trim() !== "" ? url.trim() : undefined;
}

/** A token is for one server: another URL does not get it. */
function secretOf(url: string): string {
  return `token of ${url}`;
}
