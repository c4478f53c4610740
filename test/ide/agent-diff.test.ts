import { writeFileSync } from "node:fs";
import type { CodingServerOptions } from "@devtool/coding-agent";
import type { ScriptedDiff } from "@devtool/ide/testing";
import {
  ApprovalMode,
  OPTION_CANCEL,
  OPTION_PROCEED_ONCE,
} from "@devtool/schema";
import { describe, expect, it, vi } from "vitest";
import { startServerProcess } from "../durability/crash/server-process.ts";
import { clientOf } from "../scenarios/ground.ts";
import { answer, callsOf, IdeGround, say } from "./agent-ground.ts";
import { until } from "./agents.ts";

/** An editor and a server in a workspace with a file. */
async function setUp(options: CodingServerOptions = {}) {
  const place = await IdeGround.prepare({ "a.txt": "before\n" });
  await place.trust();
  await place.companion();
  return { place, server: await place.serve(options) };
}

/** Has the model propose contents of a file, and waits for the first diff. */
async function propose(
  { place, server }: Awaited<ReturnType<typeof setUp>>,
  ...contents: readonly string[]
): Promise<{ readonly id: string; readonly view: ScriptedDiff }> {
  const count = place.editor.diffs.length;
  const calls = contents.map(
    (content) =>
      `call write_file ${JSON.stringify({ file_path: "a.txt", content })}`,
  );
  const task = await say(server, calls.join("\n"));
  const view = await until(() => place.editor.diffs[count]);
  return { id: task?.id ?? "", view };
}

describe("a change that our agent proposes", () => {
  it("is written as the user changed it in the editor, and says who approved it", async () => {
    const { place, server } = await setUp();
    const { id, view } = await propose({ place, server }, "proposed\n");
    expect(view).toMatchObject({
      path: place.ground.path("a.txt"),
      content: "proposed\n",
    });
    view.draft = "by the user: ü\r\n";
    view.accept();
    const calls = await callsOf(server, id);
    expect(calls).toMatchObject([
      { place: "Scripted Editor", option: OPTION_PROCEED_ONCE },
    ]);
    expect(await place.ground.read("a.txt")).toBe("by the user: ü\r\n");
    const audit = clientOf(server, "Connect").audit.readAudit({ taskId: id });
    const decided = (await Array.fromAsync(audit)).flatMap(
      ({ record }) => record?.clientLabel || [],
    );
    expect(new Set(decided)).toEqual(new Set(["Scripted Editor"]));
    await server.close();
  });

  it.each(["reject", "closeView"] as const)(
    "is declined by the editor (%s)",
    async (how) => {
      const { place, server } = await setUp();
      const { id, view } = await propose({ place, server }, "proposed\n");
      view[how]();
      expect(await callsOf(server, id)).toMatchObject([
        { place: "Scripted Editor", option: OPTION_CANCEL },
      ]);
      expect(await place.ground.read("a.txt")).toBe("before\n");
      await server.close();
    },
  );

  it.each([OPTION_PROCEED_ONCE, OPTION_CANCEL])(
    "leaves the editor when it is answered elsewhere (%s)",
    async (option) => {
      const { place, server } = await setUp();
      const { id, view } = await propose({ place, server }, "proposed\n");
      await answer(server, id, option);
      await until(() => !view.isOpen || undefined);
      expect(await callsOf(server, id)).toMatchObject([
        { place: "the terminal", option },
      ]);
      const isWritten = option === OPTION_PROCEED_ONCE;
      expect(await place.ground.read("a.txt")).toBe(
        isWritten ? "proposed\n" : "before\n",
      );
      await server.close();
    },
  );

  it("leaves the editor when the server ends, and is shown again by the next one", async () => {
    const { place, server } = await setUp();
    const { id, view } = await propose({ place, server }, "proposed\n");
    await server.close();
    expect(view.isOpen).toBe(false);
    const next = await place.serve();
    const again = await until(() => place.editor.diffs[1]);
    expect(again).toMatchObject({ path: view.path, content: view.content });
    await answer(next, id, OPTION_PROCEED_ONCE);
    await until(() => !again.isOpen || undefined);
    expect(await callsOf(next, id)).toMatchObject([{ place: "the terminal" }]);
    expect(await place.ground.read("a.txt")).toBe("proposed\n");
    await next.close();
  });

  it("is shown again after a kill of the server, and answered there", async () => {
    const place = await IdeGround.prepare({ "a.txt": "before\n" });
    await place.trust();
    await place.companion();
    const { dataDirectory: data, workspace } = place.ground;
    const environment = { PATH: process.env.PATH ?? "", ...place.env };
    const start = () => startServerProcess({ data, workspace, environment });
    const killed = await start();
    const call = { file_path: "a.txt", content: "proposed\n" };
    const line = `call write_file ${JSON.stringify(call)}`;
    const task = await say(killed.info, line);
    const view = await until(() => place.editor.diffs[0]);
    await killed.kill();
    const server = await start();
    // The companion closes the diffs of a client that is gone after a while.
    const again = await until(() => place.editor.diffs[1]);
    expect(view.isOpen).toBe(false);
    expect(again).toMatchObject({ path: view.path, content: "proposed\n" });
    again.draft = "by the user\n";
    again.accept();
    expect(await callsOf(server.info, task?.id ?? "")).toMatchObject([
      { place: "Scripted Editor", option: OPTION_PROCEED_ONCE },
    ]);
    expect(await place.ground.read("a.txt")).toBe("by the user\n");
    await server.stop();
  });

  it("is shown by an editor that is opened while it waits", async () => {
    const place = await IdeGround.prepare({ "a.txt": "before\n" });
    await place.trust();
    const server = await place.serve();
    const asked = propose({ place, server }, "proposed\n");
    await place.companion();
    const { id, view } = await asked;
    view.accept();
    await callsOf(server, id);
    expect(await place.ground.read("a.txt")).toBe("proposed\n");
    await server.close();
  });

  it("is shown soon where the editor failed to show it once", async () => {
    const { place, server } = await setUp();
    const open = vi.spyOn(place.editor, "openDiff");
    open.mockRejectedValueOnce(new Error("no window is open"));
    const asked = propose({ place, server }, "proposed\n");
    // Far below the time after which editors are looked for without a change.
    const soon = { timeout: 15_000 };
    await vi.waitFor(() => expect(place.editor.diffs).toHaveLength(1), soon);
    const { id, view } = await asked;
    view.accept();
    await callsOf(server, id);
    expect(open).toHaveBeenCalledTimes(2);
    await server.close();
  });

  it("is not written onto a file that has changed since it was shown", async () => {
    const { place, server } = await setUp();
    const { id, view } = await propose({ place, server }, "proposed\n");
    writeFileSync(place.ground.path("a.txt"), "by someone else\n");
    view.accept();
    expect(await callsOf(server, id)).toMatchObject([
      { result: { case: "error" } },
    ]);
    expect(await place.ground.read("a.txt")).toBe("by someone else\n");
    await server.close();
  });

  it("of the same file waits for the diff before it", async () => {
    const { place, server } = await setUp();
    const { id, view } = await propose({ place, server }, "one\n", "two\n");
    expect(place.editor.diffs).toHaveLength(1);
    view.accept();
    const second = await until(() => place.editor.diffs[1]);
    // Either may be shown first: they are written in the order of the calls.
    expect([view.content, second.content].sort()).toEqual(["one\n", "two\n"]);
    second.accept();
    await callsOf(server, id);
    expect(await place.ground.read("a.txt")).toBe("two\n");
    await server.close();
  });

  it("that needs no approval is not shown", async () => {
    const { place, server } = await setUp({
      approvalMode: ApprovalMode.AUTO_EDIT,
    });
    const call = { file_path: "a.txt", content: "at once\n" };
    await say(server, `call write_file ${JSON.stringify(call)}`);
    expect(await place.ground.read("a.txt")).toBe("at once\n");
    expect(place.editor.diffs).toEqual([]);
    await server.close();
  });
});
