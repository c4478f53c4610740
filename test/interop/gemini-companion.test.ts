import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { IdeGround, say } from "../ide/agent-ground.ts";
import { until } from "../ide/agents.ts";
import { VS_CODE_MISSING, VsCode } from "./vs-code.ts";

/**
 * The file of Google's extension for VS Code, which no package registry has:
 * the marketplace has it, and it can be built from its repository.
 */
const { DEVTOOL_GEMINI_COMPANION: EXTENSION } = process.env;
const missing =
  VS_CODE_MISSING ??
  (EXTENSION ? undefined : "DEVTOOL_GEMINI_COMPANION names no .vsix");

it.skipIf(missing !== undefined)(
  `our agent uses the companion of Gemini CLI in a real VS Code${missing === undefined ? "" : `: SKIPPED, ${missing}`}`,
  async () => {
    await using place = await IdeGround.prepare({ "a.txt": "before\n" });
    await place.trust();
    const { workspace } = place.ground;
    await using code = await VsCode.open({
      workspace,
      env: place.env,
      ...(EXTENSION !== undefined && { extension: EXTENSION }),
      settings: { "security.workspace.trust.enabled": false },
    });
    await code.openFile("a.txt");
    await code.page.locator(".view-line").first().click();
    await code.page.keyboard.press("Control+A");
    await using server = await place.serve();
    await expect
      .poll(async () => (await place.connect()).case, { timeout: 60_000 })
      .toBe("connected");
    await say(server, "text Hello.");
    const path = place.ground.path("a.txt");
    expect(place.contexts()).toMatchObject([
      { files: [{ path, isActive: true, selectedText: "before\n" }] },
    ]);

    const propose = async (content: string): Promise<void> => {
      const input = { file_path: "a.txt", content };
      await say(server, `call write_file ${JSON.stringify(input)}`);
      await code.tab(/a\.txt ↔ Modified/).waitFor();
      await code.page.locator(".editor.modified .view-line").first().waitFor();
    };
    await propose("proposed\nsecond\n");
    await code.changeFirstLine("by the user ü");
    await code.picture("gemini-companion");
    await code.press("Accept");
    const edited = "by the user ü\nsecond\n";
    await until(() => readFileSync(path, "utf8") === edited || undefined);
    await propose("never\n");
    const { length } = place.ground.fake.requests();
    await code.tab(/a\.txt ↔ Modified/).click({ button: "middle" });
    // The model hears that the user declined.
    await until(
      () => place.ground.fake.requests().length > length || undefined,
    );
    expect(readFileSync(path, "utf8")).toBe(edited);
  },
  600_000,
);
