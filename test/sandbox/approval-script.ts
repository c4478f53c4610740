/**
 * Returns a program that approves every open question of a server. `access` is
 * a JavaScript expression for the server's URL and token.
 */
export function approvalScript(access: string): string {
  return `
    import fs from "node:fs";
    const { url, token } = ${access};
    const call = (method, body) => fetch(url + "/devtool.v1alpha.TaskService/" + method, {
      method: "POST",
      headers: { authorization: "Bearer " + token, "content-type": "application/json" },
      body: JSON.stringify(body),
    }).then((response) => response.json());
    for (const { id } of (await call("ListTasks", {})).tasks) {
      const { task } = await call("GetTask", { taskId: id });
      for (const { toolCall } of task.history.flatMap(({ parts }) => parts)) {
        if (toolCall?.confirmation_request === undefined) continue;
        const confirmation = { tool_call_id: toolCall.tool_call_id, selected_option_id: "proceed_once" };
        const message = { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ confirmation }] };
        await call("SendMessage", { taskId: id, message });
      }
    }`;
}
