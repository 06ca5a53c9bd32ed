// Sections below the first screen are drawn when the reader comes near them, or prints.

class Later {
  /** @param {HTMLElement} section */
  constructor(section) {
    this.near = false;
    this.drawn = false;
    const observer = new IntersectionObserver(
      ([{ isIntersecting }]) => {
        this.near = isIntersecting;
        if (isIntersecting) this.finish();
      },
      { rootMargin: "600px" },
    );
    observer.observe(section);
  }

  /** Have something drawn: now where it can be seen, else later. Only the last counts. */
  draw(drawing) {
    this.drawing = drawing;
    this.drawn = false;
    if (this.near) this.finish();
  }

  /** Draw what waits. */
  finish() {
    if (this.drawn || !this.drawing) return;
    this.drawn = true;
    this.drawing();
  }
}
