// The app's entry: styles, then the root component.
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./App";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/forms.css";
import "./styles/layout.css";
import "./styles/posts.css";
import "./styles/people.css";
import "./styles/settings.css";
import "./styles/welcome.css";

const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no element with the id root");
createRoot(root).render(<StrictMode><App /></StrictMode>);
