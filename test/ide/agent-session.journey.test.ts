import { OPTION_PROCEED_ONCE } from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { describe, expect, it } from "vitest";
import { createIssuer } from "../auth/issuer.ts";
import { answer, callsOf, IdeGround, playIde, say } from "./agent-ground.ts";
import { until } from "./agents.ts";

/** An editor that shows a trusted workspace, and a server there. */
async function setUp() {
  const place = await IdeGround.prepare({ "a.txt": "before\n" });
  await place.trust();
  await place.companion();
  const path = place.ground.path("a.txt");
  place.editor.show({ openFiles: [{ path, isActive: true }] });
  return { place, server: await place.serve() };
}

/** Whether the model was offered a tool of the editor in its last request. */
function hasTools({ ground }: IdeGround): boolean {
  const body = JSON.stringify(ground.fake.requests().at(-1)?.body);
  return body.includes('"ide_diagnostics"');
}

const OFF = "No editor is used: it is turned off in this session: /ide enable.";

describe("/ide", () => {
  it("says which editor is connected and what it does, or why none is", async () => {
    const { place, server } = await setUp();
    expect(await playIde(server, "status")).toBe(
      "Scripted Editor is connected. It tells what is open, shows proposed changes, reports errors and warnings, shows files.",
    );
    await place.end();
    expect(await playIde(server, "status")).toBe(
      "No editor is used: no editor with a companion has announced itself.",
    );
    await server.close();
  });

  it("turns the editor of a session off, also over a restart, and on again", async () => {
    const { place, server: first } = await setUp();
    let server: DevtoolServer = first;
    const task = await say(server, "text Hello.");
    const { id = "", contextId = "" } = task ?? {};
    expect([place.contexts().length, hasTools(place)]).toEqual([1, true]);

    expect(await playIde(server, "disable", { contextId })).toBe(OFF);
    await say(server, "text Off.", id);
    expect(place.userTexts().join("\n")).toContain(
      "No editor is connected any more.",
    );
    expect(hasTools(place)).toBe(false);

    await server.close();
    server = await place.serve();
    expect(await playIde(server, "status", { contextId })).toBe(OFF);
    await say(server, "text Still off.", id);
    expect([place.contexts().length, hasTools(place)]).toEqual([1, false]);
    const other = await say(server, "text Another session.");
    expect(other?.ideContext?.editor).toBe("Scripted Editor");

    expect(await playIde(server, "enable", { contextId })).toMatch(
      /is connected/,
    );
    const again = await say(server, "text On.", id);
    expect(again?.ideContext?.editor).toBe("Scripted Editor");
    expect(hasTools(place)).toBe(true);
    await server.close();
  });

  it("closes the diffs of the session, whose questions wait elsewhere", async () => {
    const { place, server } = await setUp();
    const call = { file_path: "a.txt", content: "proposed\n" };
    const line = `call write_file ${JSON.stringify(call)}`;
    const task = await say(server, line);
    const view = await until(() => place.editor.diffs[0]);
    await playIde(server, "disable", task ?? {});
    await until(() => !view.isOpen || undefined);
    await answer(server, task?.id ?? "", OPTION_PROCEED_ONCE);
    expect(await callsOf(server, task?.id ?? "")).toMatchObject([
      { place: "the terminal" },
    ]);
    expect(await place.ground.read("a.txt")).toBe("proposed\n");
    await server.close();
  });

  it("tells another principal nothing, whose sessions get no editor", async () => {
    const { place, server: own } = await setUp();
    await own.close();
    const issuer = await createIssuer();
    const authentication = { jwt: issuer.options };
    const server = await place.serve({ authentication });
    const other = { url: server.url, token: await issuer.tokenFor("eve") };
    for (const word of ["status", "enable", "disable"]) {
      expect(await playIde(other, word)).toBe(
        "only the user who started the server has an editor here",
      );
    }
    const task = await say(other, "text Hello.");
    expect(task?.ideContext).toBeUndefined();
    expect([place.contexts().length, hasTools(place)]).toEqual([0, false]);
    const write = (content: string): string =>
      `call write_file ${JSON.stringify({ file_path: "a.txt", content })}`;
    await say(other, write("of another\n"));
    await say(server, write("own\n"));
    await until(() => place.editor.diffs[0]);
    expect(place.editor.diffs).toMatchObject([{ content: "own\n" }]);
    expect(hasTools(place)).toBe(true);
    await server.close();
  });
});
