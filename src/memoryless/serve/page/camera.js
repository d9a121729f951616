// The camera, one at a time; pictures of it are photos like others.

let stream = null;

export const possible = () => Boolean(navigator.mediaDevices?.getUserMedia);
export const WHERE = "Browsers allow the camera only on localhost and on https pages: open this page there, or choose photos.";

export async function open(video) {
  close();
  if (!possible()) throw new Error(WHERE);
  try {
    stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment", width: { ideal: 1280 } } });
  } catch (error) {
    throw new Error(error.name === "NotAllowedError"
      ? "The browser blocks the camera: allow it beside the address of this page, then try again."
      : "No camera was found: connect one, or choose photos.");
  }
  video.srcObject = stream;
  await video.play();
}

export function close() {
  for (const track of stream?.getTracks() ?? []) track.stop();
  stream = null;
  for (const video of document.querySelectorAll("video")) video.srcObject = null;
}

export function capture(video) {
  const canvas = document.createElement("canvas");
  canvas.width = video.videoWidth;
  canvas.height = video.videoHeight;
  canvas.getContext("2d").drawImage(video, 0, 0);
  return new Promise((done) => canvas.toBlob((blob) => done(new File([blob], "camera.jpg", { type: "image/jpeg" })), "image/jpeg", 0.9));
}
