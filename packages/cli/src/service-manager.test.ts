import { expect, it } from "vitest";
import { passedSocket, takeServiceManager } from "./service-manager.ts";

const PASSED = {
  LISTEN_FDS: "1",
  LISTEN_PID: "7",
  LISTEN_FDNAMES: "devtool.socket",
  NOTIFY_SOCKET: "/run/systemd/notify",
};

it("takes what systemd passes out of the environment, also what is another process's", () => {
  for (const pid of [7, 8]) {
    const environment = { ...PASSED, PATH: "/bin" };
    const manager = takeServiceManager(environment, pid);
    expect(environment).toEqual({ PATH: "/bin" });
    expect(passedSocket(manager)).toBe(pid === 7 ? 3 : undefined);
    expect(manager.notifySocket).toBe("/run/systemd/notify");
  }
});
