// What the page begins with: so small that it is there, and shown, before the editor with its style sheet is.
void import("./main");
