import { loadConsole } from "@devtool/console";
import { createServer, type DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const agent = {
  about: { name: "Idle", description: "" },
  open: () => ({ createExecutor: () => ({ async *execute() {} }) }),
};

describe("the files of the console", () => {
  let server: DevtoolServer;
  let script: string;

  beforeAll(async () => {
    server = await createServer({
      agents: { agent },
      site: await loadConsole(),
    });
    const html = await (await get("/")).text();
    script =
      /src="\.(\/assets\/[^"]+\.js)"/.exec(html)?.[1] ??
      expect.fail("the page has no script");
  });
  afterAll(() => server.close());

  it("are not sent again to a browser that has them: the page asks each time, the others never", async () => {
    for (const [path, cached] of [
      ["/", "no-cache"],
      [script, "public, max-age=31536000, immutable"],
    ] as const) {
      const first = await get(path);
      expect([first.status, first.headers.get("cache-control")]).toEqual([
        200,
        cached,
      ]);
      expect((await first.bytes()).length).toBeGreaterThan(100);
      const etag = first.headers.get("etag") ?? "";
      expect(etag).toMatch(/^"[\w-]{43}(-gzip)?"$/);
      const again = await get(path, { "if-none-match": etag });
      expect([
        again.status,
        await again.text(),
        again.headers.get("etag"),
      ]).toEqual([304, "", etag]);
      expect(again.headers.get("content-security-policy")).toContain(
        "trusted-types service-worker",
      );
      expect((await get(path, { "if-none-match": '"another"' })).status).toBe(
        200,
      );
    }
  });

  it("have another ETag for each encoding, and the same bytes", async () => {
    const [plain, packed] = [
      await get(script, { "accept-encoding": "identity" }),
      await get(script),
    ];
    expect(packed.headers.get("content-encoding")).toBe("gzip");
    expect(plain.headers.get("content-encoding")).toBeNull();
    expect(plain.headers.get("etag")).not.toBe(packed.headers.get("etag"));
    for (const { headers } of [plain, packed]) {
      expect(headers.get("vary")).toMatch(/accept-encoding/i);
    }
    const asked = {
      "accept-encoding": "identity",
      "if-none-match": packed.headers.get("etag") ?? "",
    };
    expect((await get(script, asked)).status).toBe(200);
    expect(await packed.text()).toBe(await plain.text());
  });

  it.each([
    ["several", (etag: string) => `"other", ${etag}`],
    ["weak", (etag: string) => `W/${etag}`],
    ["any", () => "*"],
  ])(
    "are known by a list of tags, a weak tag and any tag: %s",
    async (_what, tagsFor) => {
      const etag = (await get("/")).headers.get("etag") ?? "";
      expect((await get("/", { "if-none-match": tagsFor(etag) })).status).toBe(
        304,
      );
    },
  );

  it("answer to HEAD with all but the bytes", async () => {
    const [whole, head] = [await get(script), await get(script, {}, "HEAD")];
    expect([head.status, await head.text()]).toEqual([200, ""]);
    for (const name of [
      "etag",
      "content-type",
      "content-length",
      "content-encoding",
      "cache-control",
    ]) {
      expect([name, head.headers.get(name)]).toEqual([
        name,
        whole.headers.get(name),
      ]);
    }
  });

  it("are those of the list and no others", async () => {
    for (const path of [
      "/..%2fpackage.json",
      "/assets/",
      "/assets/missing.js",
      "//",
      "/index.html",
    ]) {
      const response = await get(path);
      expect([path, response.status]).toEqual([path, 404]);
    }
  });

  function get(
    path: string,
    headers: Readonly<Record<string, string>> = {},
    method = "GET",
  ): Promise<Response> {
    return fetch(`${server.url}/console${path}`, { headers, method });
  }
});
