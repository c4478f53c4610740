import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { enter, enterAgainByCode } from "./access.ts";
import { App } from "./app.tsx";
import { createTransport } from "./console-client.ts";
import { NoAccess } from "./no-access.tsx";
import { language } from "./words.ts";

document.documentElement.lang = language;
const root = document.getElementById("page");
if (!root) throw new Error('element "page" is missing');
enterAgainByCode();
const access = await enter(createTransport(""));
createRoot(root).render(
  <StrictMode>
    {access.case === "token" ? (
      <App token={access.token} />
    ) : (
      <NoAccess failed={access.failed} />
    )}
  </StrictMode>,
);
