import { create } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { AgentListService } from "@devtool/schema";
import { expect, it } from "vitest";
import { AgentSources } from "./agent-sources.ts";

it("takes no registrations where other servers go on with tasks", async () => {
  const sources = new AgentSources({
    settings: {},
    served: [],
    isShared: true,
    dataDirectory: undefined,
    now: () => 0,
    ownPorts: () => [],
    onNotice: () => undefined,
  });
  const request = create(AgentListService.method.registerAgent.input, {
    name: "painter",
    url: "https://agents.example/painter",
  });
  await expect(sources.register(request, "ada")).rejects.toMatchObject({
    code: Code.FailedPrecondition,
    message: expect.stringContaining("remote_agents"),
  });
  expect(await sources.registered()).toEqual([]);
});
