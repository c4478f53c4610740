import { emptyTask } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { remoteAgents } from "./remote-agents.ts";

describe("an agent elsewhere", () => {
  it("shows no password and no query of its URL, and has an id of its own", () => {
    const url = "https://agents.example/helper";
    const ids = [url, `${url}?key=s3cret`, `${url}?key=0ther`].map((each) => {
      const [agent] = remoteAgents([
        { name: "helper", url: each, description: "" },
      ]);
      expect(agent?.place).toBe(`at ${url}`);
      return agent?.chainId;
    });
    expect(ids[0]).toBe(url);
    expect(new Set(ids).size).toBe(3);
    expect(ids.join()).not.toContain("key=");
    const [named] = remoteAgents([
      { name: "x", url: "https://ada:s3cret@agents.example/", description: "" },
    ]);
    expect(JSON.stringify(named)).not.toContain("s3cret");
  });

  it("is asked for its card with the query of its URL, which may be that of the card", async () => {
    const requested: string[] = [];
    const fetch = async (url: unknown): Promise<Response> => {
      requested.push(String(url));
      return new Response("", { status: 404 });
    };
    const path = "/.well-known/agent-card.json";
    const [agent] = remoteAgents([
      {
        name: "x",
        url: `https://agents.example/one${path}?tenant=1`,
        description: "",
        fetch,
      },
    ]);
    const signal = AbortSignal.timeout(60_000);
    await expect(agent?.connect(emptyTask(), signal)).rejects.toThrow(
      "has no card",
    );
    expect(requested[0]).toBe(`https://agents.example/one${path}?tenant=1`);
  });
});
