import { type ReactNode, StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { type Access, enter, enterAgainByCode } from "./access.ts";
import { App } from "./app.tsx";
import { createTransport } from "./console-client.ts";
import { NoAccess, OfferedAccess } from "./no-access.tsx";
import { language } from "./words.ts";

document.documentElement.lang = language;
const root = document.getElementById("page");
if (!root) throw new Error('element "page" is missing');
enterAgainByCode();
const access = await enter(createTransport(""));
createRoot(root).render(<StrictMode>{pageFor(access)}</StrictMode>);

function pageFor(access: Access): ReactNode {
  switch (access.case) {
    case "token":
      return <App token={access.token} />;
    case "offered":
      return <OfferedAccess {...access.offered} />;
    case "none":
      return <NoAccess failed={access.failed} />;
  }
}
