// A canvas that is sharp at every zoom of the page: its pixels follow its size on the screen.

/** Fit a canvas to its place and return { context, width, height } in CSS pixels, with `resized` if it has changed. */
function fitted(canvas) {
  const scale = window.devicePixelRatio || 1;
  const { clientWidth: width, clientHeight: height } = canvas;
  const pixels = [Math.round(width * scale), Math.round(height * scale)];
  const resized = canvas.width !== pixels[0] || canvas.height !== pixels[1];
  if (resized) [canvas.width, canvas.height] = pixels;
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  return { context, width, height, resized };
}

/** A canvas of the same size that is drawn once and copied often; `draw(context)` fills it when told to. */
function layer() {
  const canvas = document.createElement("canvas");
  return {
    redraw(like, draw) {
      [canvas.width, canvas.height] = [like.width, like.height];
      const context = canvas.getContext("2d");
      const scale = window.devicePixelRatio || 1;
      context.setTransform(scale, 0, 0, scale, 0, 0);
      draw(context);
    },
    copyTo(context) {
      if (!canvas.width || !canvas.height) return;
      context.save();
      context.setTransform(1, 0, 0, 1, 0, 0);
      context.drawImage(canvas, 0, 0);
      context.restore();
    },
  };
}

const FONT = "system-ui, sans-serif";
