import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runCommand } from "@devtool/cli/testing";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { PostgresStore } from "@devtool/postgres";
import { SigningKeys } from "@devtool/server/operator";
import { decodeProtectedHeader } from "jose";
import { expect, it } from "vitest";
import { describeWithPostgres } from "./with-postgres.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

describeWithPostgres("the signing keys of a fleet", (database) => {
  it("are rotated and revoked by one command, and both servers follow within a minute", async () => {
    const schema = "fleet_keys";
    const { url } = database;
    await using one = await PostgresStore.open({ url, schema });
    await using two = await PostgresStore.open({ url, schema });
    let now = Date.now();
    const fleet = [one, two].map(
      ({ shared }) => new SigningKeys({ storage: shared.keys, now: () => now }),
    );
    const signers = async () =>
      Promise.all(
        fleet.map(
          async (keys) => decodeProtectedHeader(await keys.sign({})).kid,
        ),
      );
    const published = async () =>
      Promise.all(
        fleet.map(async (keys) =>
          (await keys.publicKeys()).keys.map(({ kid }) => kid),
        ),
      );
    const data = temporaryDirectory();
    const config = join(data, "config.toml");
    const text = `[store]\nurl = "${url}"\nschema = "${schema}"\n`;
    await writeFile(config, text, { mode: 0o600 });
    const keys = (...args: string[]) =>
      runCommand(["keys", ...args, "--data", data]);
    const [old = ""] = await signers();
    expect(await signers()).toEqual([old, old]);
    const { code, out, err } = await keys("rotate");
    expect([code, err]).toEqual([0, ""]);
    const next = out.trim().split("\n").at(-1)?.split(" ")[0] ?? "";
    now += MINUTE_MS + 1;
    expect(await published()).toEqual([
      [old, next],
      [old, next],
    ]);
    expect(await signers()).toEqual([old, old]);
    now += DAY_MS;
    expect(await signers()).toEqual([next, next]);
    expect((await keys("revoke", next)).out).not.toContain(next);
    now += MINUTE_MS + 1;
    expect((await published()).flat()).not.toContain(next);
    expect(await signers()).toEqual([old, old]);
  });
});
