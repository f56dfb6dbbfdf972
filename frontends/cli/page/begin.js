'use strict';
// The scripts of this folder become one, in the order of ../CMakeLists.txt. Texts of the data go
// into the page as text only, never as markup.

/** Shows what went wrong, where users and tests see it. */
function showProblem(message) {
  const box = document.getElementById('problem');
  box.textContent += `${message}\n`;
  box.hidden = false;
  const root = document.documentElement;
  root.dataset.errors = String(Number(root.dataset.errors || 0) + 1);
}
window.addEventListener('error', (event) => showProblem(`This page has a fault: ${event.message}`));

/** An element with properties and children; texts become text nodes. */
function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children.filter((child) => child !== null));
  return made;
}

const byId = (id) => document.getElementById(id);
